"""Keep what discovery saw, validate it, and promote what validates to stores. Nothing here commits."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from psycopg.rows import class_row, scalar_row, tuple_row

from storecrawl.catalog.discovery.rules import Candidate, problems_of
from storecrawl.catalog.sql import LOCATIONS
from storecrawl.catalog.store_records import DiscoveredStore
from storecrawl.statements import Connection, execute, fetch, json_text

__all__ = ["DiscoveryReport", "discover_locations", "promote_locations"]

MEETS_ALL = "it meets every rule"
SEEN_AGAIN = "the platform names it again"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveryReport:
    """How many locations were entered, and how many were known before."""

    new: int
    known: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verdict:
    id: int
    problems: list[str]


async def discover_locations(connection: Connection, stores: Sequence[DiscoveredStore]) -> DiscoveryReport:
    """Enter or renew locations, and carry what changed over to the stores that came of them.

    What is not said this time stays as it was, and so does every decision: `promote_locations` is what decides.
    """
    by_id = {store.platform_store_id: store for store in stores}
    if not by_id:
        return DiscoveryReport(new=0, known=0)
    locations = json_text(list(by_id.values()))
    new = (await fetch(connection, LOCATIONS.enter_locations, {"locations": locations}, scalar_row))[0]
    await execute(connection, LOCATIONS.renew_stores, {"platform_store_ids": sorted(by_id)})
    return DiscoveryReport(new=new, known=len(by_id) - new)


async def promote_locations(
    connection: Connection, platform_store_ids: Collection[str], covered: Collection[str], by: str
) -> list[int]:
    """Promote those of the locations that meet every rule, and reject the others with what they lack.

    Who was rejected by a person stays so; who has a store keeps it. What the rules had rejected is looked at again,
    and what needed investigation and is named again is as it was. Returns the ids of the stores that are new,
    ascending: the `newStoreIds` of a discovery's result.
    """
    parameters = {"platform_store_ids": sorted(platform_store_ids)}
    candidates = await fetch(connection, LOCATIONS.locations_to_validate, parameters, class_row(Candidate))
    verdicts = {candidate.id: problems_of(candidate, covered) for candidate in candidates}
    bad = [_Verdict(id=location, problems=problems) for location, problems in verdicts.items() if problems]
    if bad:
        await execute(connection, LOCATIONS.reject_locations, {"verdicts": json_text(bad), "by": by})
    return await _promote([each for each in candidates if not verdicts[each.id]], connection, by)


async def _promote(good: Sequence[Candidate], connection: Connection, by: str) -> list[int]:
    if not good:
        return []
    again = {"ids": [each.id for each in good], "because": SEEN_AGAIN, "by": by}
    await execute(connection, LOCATIONS.restore_locations, again)
    await execute(connection, LOCATIONS.reopen_locations, {**again, "because": MEETS_ALL})
    ids = [each.id for each in good if each.store_id is None]
    found = {"ids": ids, "because": MEETS_ALL, "by": by}
    promoted = await fetch(connection, LOCATIONS.promote_locations, found, tuple_row)
    return [store_id for store_id, is_new in promoted if is_new]
