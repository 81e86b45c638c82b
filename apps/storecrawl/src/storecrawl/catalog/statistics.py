"""Derive statistics from products: take the change log, count its stores, merge what was counted. Nothing commits.

Whatever changes a product logs its store, in the same transaction (see migration 0013). The log and the partials
are unlogged: a crash of the server empties them, and the mark with them. Then everything is counted again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from psycopg import sql
from psycopg.rows import class_row, scalar_row, tuple_row

from storecrawl.catalog.sql import STATISTICS, STORES
from storecrawl.statements import Connection, execute, fetch

# A small change is counted in small batches, side by side; a long round's batches are few, and none is too large.
BATCHES = 16
MOST_STORES = 250


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What the log held: ids of `stores`; `unmarked` says that it may have held more, so that all are to be counted."""

    stores: list[int]
    logged: bool
    unmarked: bool


async def take_changes(connection: Connection) -> Changes:
    """Empty the change log; what others commit from now on is the next round's."""
    return (await fetch(connection, STATISTICS.take_changes, {}, class_row(Changes)))[0]


async def begin_round(connection: Connection, *, stores: int | None, pause: timedelta, logged: bool) -> None:
    """Note that a round over so many stores begins, None for all; the next one begins a `pause` later."""
    await execute(connection, STATISTICS.begin_round, {"stores": stores, "pause": pause, "logged": logged})


async def all_stores(connection: Connection) -> list[int]:
    """The ids of all stores, in order."""
    return await fetch(connection, STORES.list_ids, {}, scalar_row)


def in_batches(stores: Sequence[int]) -> list[Sequence[int]]:
    """Share stores out: the more there are, the larger the batches."""
    size = min(max(-(-len(stores) // BATCHES), 1), MOST_STORES)
    return [stores[first : first + size] for first in range(0, len(stores), size)]


async def count_stores(connection: Connection, stores: Sequence[int]) -> int:
    """Overwrite what is counted of these stores; return how many of the partials changed."""
    [changed] = await fetch(connection, STATISTICS.count_stores, {"stores": list(stores)}, scalar_row)
    return int(changed)


async def nothing_lost(connection: Connection) -> bool:
    """Whether the partials are those that rounds have counted: false after a crash of the server."""
    return bool(await fetch(connection, STATISTICS.log_is_marked, {}, scalar_row))


async def merge_statistics(connection: Connection, stores: Sequence[int] | None) -> int:
    """Bring statistics in line with the partials, of these stores or, for None, of all; return how many rows changed.

    Rows that nothing stands for any more are deleted: a full merge puts right whatever went wrong before.
    """
    touched = await fetch(connection, STATISTICS.take_touched_brands, {}, scalar_row)
    brands = None if stores is None else touched
    changed = await execute(connection, STATISTICS.merge_brand_statistics, {"brands": brands})
    store_ids = None if stores is None else list(stores)
    changed += await execute(connection, STATISTICS.merge_store_statistics, {"stores": store_ids})
    await execute(connection, STATISTICS.end_round, {})
    return changed


async def refresh_stale_views(connection: Connection) -> list[str]:
    """Refresh the views if a round has noted a change since the last time; return the names of those refreshed."""
    stale = await execute(connection, STATISTICS.claim_views, {})
    return await refresh_views(connection) if stale else []


async def refresh_views(connection: Connection) -> list[str]:
    """Refresh every view of the schema in the caller's transaction; return their names.

    Concurrently, so that readers never wait; a view that was never filled, as after a restore, plainly.
    """
    views = await fetch(connection, STATISTICS.list_views, {}, tuple_row)
    for name, populated in views:
        manner = sql.SQL("concurrently ") if populated else sql.SQL("")
        view = sql.Identifier("storecrawl", name)
        await connection.execute(sql.SQL("refresh materialized view {}{}").format(manner, view))
    return [name for name, _ in views]
