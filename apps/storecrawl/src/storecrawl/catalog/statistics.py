"""Derive statistics from products: take the change log, count its stores, merge the partials. Nothing here commits.

Every change of a product logs its store in the same transaction (migration 0013). The log, its mark and the
partials are in unlogged tables, which a server crash empties. In that case, everything is counted again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from psycopg import sql
from psycopg.rows import class_row, scalar_row, tuple_row

from storecrawl.catalog.sql import STATISTICS, STORES
from storecrawl.statements import Connection, execute, fetch

# A small change is counted in small parallel batches. A large round has few batches, none of them too large.
BATCHES = 16
MOST_STORES = 250


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The ids of the logged stores. If `unmarked`, the log may have lost some, and all stores must be counted."""

    stores: list[int]
    logged: bool
    unmarked: bool


async def take_changes(connection: Connection) -> Changes:
    """Empty the change log; changes that commit later belong to the next round."""
    return (await fetch(connection, STATISTICS.take_changes, {}, class_row(Changes)))[0]


async def begin_round(connection: Connection, *, stores: int | None, pause: timedelta, logged: bool) -> None:
    """Begin a round over this many stores, None for all; the next starts `pause` later at the earliest."""
    await execute(connection, STATISTICS.begin_round, {"stores": stores, "pause": pause, "logged": logged})


async def all_stores(connection: Connection) -> list[int]:
    """Return the ids of all stores, in order."""
    return await fetch(connection, STORES.list_ids, {}, scalar_row)


def split_batches(stores: Sequence[int]) -> list[Sequence[int]]:
    """Split stores into batches, which grow with the number of stores."""
    size = min(max(-(-len(stores) // BATCHES), 1), MOST_STORES)
    return [stores[first : first + size] for first in range(0, len(stores), size)]


async def count_stores(connection: Connection, stores: Sequence[int]) -> int:
    """Overwrite the partials of these stores; return how many changed."""
    [changed] = await fetch(connection, STATISTICS.count_stores, {"stores": list(stores)}, scalar_row)
    return int(changed)


async def partials_complete(connection: Connection) -> bool:
    """Return whether the partials are complete; False after a server crash."""
    return bool(await fetch(connection, STATISTICS.log_is_marked, {}, scalar_row))


async def merge_statistics(connection: Connection, stores: Sequence[int] | None) -> int:
    """Merge the partials of these stores (None for all) into the statistics; return how many rows changed.

    Rows without partials are deleted, so a full merge repairs any earlier error.
    """
    touched_brands = await fetch(connection, STATISTICS.take_touched_brands, {}, scalar_row)
    brands = None if stores is None else touched_brands
    changed = await execute(connection, STATISTICS.merge_brand_statistics, {"brands": brands})
    store_ids = None if stores is None else list(stores)
    changed += await execute(connection, STATISTICS.merge_store_statistics, {"stores": store_ids})
    await execute(connection, STATISTICS.end_round, {})
    return changed


async def refresh_stale_views(connection: Connection) -> list[str]:
    """Refresh the views if a round has recorded a change since the last refresh; return the refreshed ones."""
    stale = await execute(connection, STATISTICS.claim_views, {})
    return await refresh_views(connection) if stale else []


async def refresh_views(connection: Connection) -> list[str]:
    """Refresh every view of the schema in the caller's transaction; return their names.

    Views are refreshed concurrently, so that readers never wait, unless they are empty, as after a restore.
    """
    views = await fetch(connection, STATISTICS.list_views, {}, tuple_row)
    for name, populated in views:
        manner = sql.SQL("concurrently ") if populated else sql.SQL("")
        view = sql.Identifier("storecrawl", name)
        await connection.execute(sql.SQL("refresh materialized view {}{}").format(manner, view))
    return [name for name, _ in views]
