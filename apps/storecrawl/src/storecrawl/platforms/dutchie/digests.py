"""Detect from digests, without parsing, that a menu's responses have not changed. Most menus have not.

Equal responses lead to equal requests and to an equal menu, as long as the code and its options are the
same. Each digest therefore covers these.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from storecrawl.fingerprint import fingerprint_of
from storecrawl.platforms.dutchie.menu import Kind
from storecrawl.platforms.raw_pages import RawPage

DIGEST_BYTES = 16
Place = tuple[Kind, int]
"""A page (from 0) of a walk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Digests:
    """Computes the digests of a store's responses for one client."""

    dispensary_id: str
    page_size: int
    page_cap: int

    def of(self, answer: RawPage) -> str:
        """Return a response's digest, which includes its request."""
        code = fingerprint_of("platforms")
        made_by = f"{code} {self.page_size} {self.page_cap} {self.dispensary_id} {answer.status}".encode()
        digest = hashlib.blake2b(made_by, digest_size=DIGEST_BYTES)
        digest.update(answer.body)
        return f"{answer.part} {answer.number} {digest.hexdigest()}"


def places_in(digests: Sequence[str]) -> list[Place]:
    """Return the requests of these digests, in order."""
    requests = [digest.rsplit(" ", 2) for digest in digests]
    return [(Kind.of(part), int(number)) for part, number, _ in requests]
