"""Tell from digests that a menu's answers are what they were, without a look into them: most menus are.

Given the same answers, the same pages are asked for and the same menu is made of them, as long as the code and what it
goes by are the same: these are in each digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from storecrawl.fingerprint import fingerprint_of
from storecrawl.upstream.menu import Kind
from storecrawl.upstream.options import MenuMode
from storecrawl.upstream.raw_pages import RawPage

__all__ = ["Digests", "Place", "places_in"]

DIGEST_BYTES = 16
Place = tuple[Kind, int]
"""A page (from 0) of a walk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Digests:
    """Makes the digests of a store's answers, as one client asks for them."""

    dispensary_id: str
    page_size: int
    page_cap: int

    def of(self, answer: RawPage) -> str:
        """Return an answer's digest, with what it was the answer to."""
        code = fingerprint_of(__package__)
        made_by = f"{code} {self.page_size} {self.page_cap} {self.dispensary_id} {answer.status}".encode()
        digest = hashlib.blake2b(made_by, digest_size=DIGEST_BYTES)
        digest.update(answer.body)
        return f"{answer.pricing_type} {answer.mode} {answer.number} {digest.hexdigest()}"


def places_in(digests: Sequence[str]) -> list[Place]:
    """Return where the answers of these digests stand, in their order."""
    parts = [digest.split(" ") for digest in digests]
    return [(Kind(pricing_type, MenuMode(mode)), int(number)) for pricing_type, mode, number, _ in parts]
