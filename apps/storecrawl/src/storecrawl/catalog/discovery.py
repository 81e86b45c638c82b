"""Keep what discovery saw, validate it, and promote what validates to stores. Nothing here commits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from psycopg.rows import class_row, scalar_row, tuple_row

from storecrawl.catalog.statements import Connection, execute, fetch, json_text
from storecrawl.catalog.store_records import DiscoveredStore

PLATFORM_ID = re.compile(r"[0-9a-f]{24}|[0-9A-Za-z]{17}")
"""The two forms of the platform's ids; anything else was typed by hand or is a slug."""
SLUG = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveryReport:
    """How many locations were entered, and how many were known before."""

    new: int
    known: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    id: int
    platform_store_id: str
    name: str | None
    slug: str | None


async def discover_locations(connection: Connection, stores: Sequence[DiscoveredStore]) -> DiscoveryReport:
    """Enter or renew locations, and carry what changed over to the stores that came of them.

    What is not said this time stays as it was. A location that a person rejected stays rejected; one that the
    rules rejected is looked at again by the next promotion.
    """
    by_id = {store.platform_store_id: store for store in stores}
    if not by_id:
        return DiscoveryReport(new=0, known=0)
    locations = json_text(list(by_id.values()))
    new = (await fetch(connection, "discover_locations", {"locations": locations}, scalar_row))[0]
    await execute(connection, "renew_stores", {"platform_store_ids": sorted(by_id)})
    return DiscoveryReport(new=new, known=len(by_id) - new)


async def promote_locations(connection: Connection) -> list[int]:
    """Promote the discovered locations that validate and reject the others with their reason.

    Returns the ids of the stores that are new, ascending: the `newStoreIds` of a discovery's result.
    """
    candidates = await fetch(connection, "locations_to_promote", {}, class_row(_Candidate))
    problems = {candidate.id: _problem(candidate) for candidate in candidates}
    rejected = {location: problem for location, problem in problems.items() if problem is not None}
    if rejected:
        await execute(connection, "reject_locations", {"ids": list(rejected), "reasons": list(rejected.values())})
    verified = [location for location, problem in problems.items() if problem is None]
    promoted = await fetch(connection, "promote_locations", {"ids": verified}, tuple_row)
    return [store_id for store_id, is_new in promoted if is_new]


def _problem(candidate: _Candidate) -> str | None:
    if PLATFORM_ID.fullmatch(candidate.platform_store_id) is None:
        return "its id is not one of the platform's"
    if not candidate.name:
        return "it has no name"
    if candidate.slug is None or SLUG.fullmatch(candidate.slug) is None:
        return "it has no usable slug"
    return None
