"""Turn locations into stores: record the discovered ones, and promote those that meet every rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.rows import class_row, scalar_row, tuple_row

from storecrawl.catalog.discovery.cities import state_code
from storecrawl.catalog.sql import LOCATIONS
from storecrawl.catalog.store_records import DiscoveredStore
from storecrawl.statements import Connection, execute, fetch, json_text

MEETS_ALL = "it meets every rule"
SEEN_AGAIN = "the platform lists it again"
SLUG = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}")


def _no_problems(_: Mapping[str, Any]) -> list[str]:
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRules:
    """The rules of a platform for its stores: the form of their ids, and the problems that its objects show."""

    platform: str
    store_id: re.Pattern[str]
    problems_of_object: Callable[[Mapping[str, Any]], list[str]] = _no_problems


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveryReport:
    """How many locations were recorded, and how many of them were known."""

    new: int
    known: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    id: int
    problems: list[str]


async def discover_locations(connection: Connection, stores: Sequence[DiscoveredStore]) -> DiscoveryReport:
    """Record or update locations, and copy changes to the stores created from them.

    Values that are missing this time keep their old state, as do decisions, which `promote_locations`
    makes.
    """
    by_id = {(store.platform, store.platform_store_id): store for store in stores}
    if not by_id:
        return DiscoveryReport(new=0, known=0)
    locations = {"locations": json_text(list(by_id.values()))}
    new = (await fetch(connection, LOCATIONS.enter_locations, locations, scalar_row))[0]
    await execute(connection, LOCATIONS.renew_stores, locations)
    return DiscoveryReport(new=new, known=len(by_id) - new)


async def promote_locations(
    connection: Connection, rules: StoreRules, platform_store_ids: Collection[str], *, covered: Collection[str], by: str
) -> list[int]:
    """Promote a platform's locations that meet every rule, and reject the others with the rules that they do not meet.

    Locations that a person rejected and those with a store stay unchanged. Locations rejected by the rules
    are checked again, and those needing investigation get their previous status back when they are found
    again. Returns the ids of the new stores, ascending: the `newStoreIds` of a discovery's result.
    """
    parameters = {"platform": rules.platform, "platform_store_ids": sorted(platform_store_ids)}
    candidates = await fetch(connection, LOCATIONS.locations_to_validate, parameters, class_row(Candidate))
    verdicts = {candidate.id: problems_of(candidate, rules, covered) for candidate in candidates}
    bad = [_Verdict(id=location, problems=problems) for location, problems in verdicts.items() if problems]
    if bad:
        await execute(connection, LOCATIONS.reject_locations, {"verdicts": json_text(bad), "by": by})
    return await _promote([each for each in candidates if not verdicts[each.id]], connection, by)


async def _promote(good: Sequence[Candidate], connection: Connection, by: str) -> list[int]:
    if not good:
        return []
    restoration = {"ids": [each.id for each in good], "because": SEEN_AGAIN, "by": by}
    await execute(connection, LOCATIONS.restore_locations, restoration)
    await execute(connection, LOCATIONS.reopen_locations, {**restoration, "because": MEETS_ALL})
    ids = [each.id for each in good if each.store_id is None]
    found = {"ids": ids, "because": MEETS_ALL, "by": by}
    promoted = await fetch(connection, LOCATIONS.promote_locations, found, tuple_row)
    return [store_id for store_id, is_new in promoted if is_new]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A location to validate; `raw` is the platform's object."""

    id: int
    platform_store_id: str
    status: str
    name: str | None
    slug: str | None
    city: str | None
    state: str | None
    raw: Any
    store_id: int | None


def problems_of(candidate: Candidate, rules: StoreRules, covered: Collection[str]) -> list[str]:
    """Return the rules that the candidate does not meet, in words; `covered` are the codes of the crawled states."""
    raw = candidate.raw if isinstance(candidate.raw, dict) else {}
    found = (_id(candidate, rules), _name(candidate), _slug(candidate), *rules.problems_of_object(raw))
    return [problem for problem in (*found, _place(candidate, covered)) if problem is not None]


def _id(candidate: Candidate, rules: StoreRules) -> str | None:
    has_form = rules.store_id.fullmatch(candidate.platform_store_id)
    return None if has_form else "its id does not have the form of the platform's ids"


def _name(candidate: Candidate) -> str | None:
    return None if candidate.name else "it has no name"


def _slug(candidate: Candidate) -> str | None:
    return None if candidate.slug and SLUG.fullmatch(candidate.slug) else "it has no usable slug"


def _place(candidate: Candidate, covered: Collection[str]) -> str | None:
    if not candidate.state:
        return "it has no state"
    if state_code(candidate.state) not in covered:
        return f"it is in {candidate.state}, which is not covered"
    return None
