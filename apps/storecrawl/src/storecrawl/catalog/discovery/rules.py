"""What a location must have to become a store without anybody's help; each rule says what is missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from storecrawl.catalog.discovery.states import state_code

__all__ = ["Candidate", "problems_of"]

PLATFORM_ID = re.compile(r"[0-9a-f]{24}|[0-9A-Za-z]{17}")
"""The two forms of the platform's ids; anything else was typed by hand or is a slug."""
SLUG = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}")
CLOSED = frozenset({"archived", "closed", "disabled", "inactive", "permanently_closed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A location that the rules decide about; `raw` is what the platform said of it."""

    id: int
    platform_store_id: str
    status: str
    name: str | None
    slug: str | None
    city: str | None
    state: str | None
    menu_url: str | None
    raw: Any
    store_id: int | None


def problems_of(candidate: Candidate, covered: Collection[str]) -> list[str]:
    """The rules that it does not meet, in words; `covered` are the codes of the states that are crawled."""
    found = (rule(candidate) for rule in RULES)
    place = _place(candidate, covered)
    return [problem for problem in (*found, place) if problem is not None]


def _id(candidate: Candidate) -> str | None:
    return None if PLATFORM_ID.fullmatch(candidate.platform_store_id) else "its id is not one of the platform's"


def _name(candidate: Candidate) -> str | None:
    return None if candidate.name else "it has no name"


def _slug(candidate: Candidate) -> str | None:
    return None if candidate.slug and SLUG.fullmatch(candidate.slug) else "it has no usable slug"


def _menu(candidate: Candidate) -> str | None:
    # The platform lists stores that only advertise there: they have no category at all.
    has_none = candidate.menu_url is None and _said(candidate).get("activeCategories") == []
    return "it has no menu on the platform" if has_none else None


def _open(candidate: Candidate) -> str | None:
    status = str(_said(candidate).get("status")).strip().lower()
    return f"the platform says that it is {status}" if status.replace(" ", "_") in CLOSED else None


def _place(candidate: Candidate, covered: Collection[str]) -> str | None:
    if not candidate.state:
        return "it names no state"
    if state_code(candidate.state) not in covered:
        return f"it is in {candidate.state}, which is not covered"
    return None


def _said(candidate: Candidate) -> Mapping[str, Any]:
    return candidate.raw if isinstance(candidate.raw, dict) else {}


RULES: tuple[Callable[[Candidate], str | None], ...] = (_id, _name, _slug, _menu, _open)
