"""Dark stores: those without a menu for some rounds, whose stock is unknown. Nothing here commits.

A store becomes light again with the next menu that is applied. Statistics leave out the products of dark stores.
A store whose platform id is unknown to the platform, although searches find it again, needs investigation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from psycopg.rows import class_row, scalar_row

from storecrawl.catalog.sql import DARK
from storecrawl.statements import Connection, execute, fetch

STORES_AT_ONCE: Final = 100
NAMED: Final = 3

SAME_ID_LIMIT: Final = 3
"""The number of searches in a row that find the same unknown id, after which the store needs investigation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoresInTrouble:
    """The number of stores with a problem, of all crawled `stores`, the first time of the problem and some names."""

    found: int
    stores: int
    since: datetime | None
    examples: Sequence[str]


async def overdue_stores(
    connection: Connection,
    after: timedelta,
    *,
    state: str | None = None,
    ids: Sequence[int] | None = None,
    limit: int | None = None,
) -> list[int]:
    """Return the stores, of all states or one, that had no menu for a time and are not dark yet, in order."""
    parameters = {"after": after, "state": state, "ids": None if ids is None else list(ids), "limit": limit}
    return await fetch(connection, DARK.overdue_stores, parameters, scalar_row)


async def darken_stores(connection: Connection, after: timedelta, *, state: str | None = None) -> list[int]:
    """Make some stores without a menu for this time dark; return them, none at the end.

    Refreshes of these stores wait until the caller's transaction ends.
    """
    candidates = await overdue_stores(connection, after, state=state, limit=STORES_AT_ONCE)
    await execute(connection, DARK.lock_stores, {"ids": candidates})
    overdue = await overdue_stores(connection, after, ids=candidates)  # a refresh may have ended before the lock
    if overdue:
        await execute(connection, DARK.mark_dark, {"ids": overdue})
        await forget_stock(connection, overdue)
    return overdue


async def forget_stock(connection: Connection, store_ids: Sequence[int]) -> None:
    """Set the stock of those stores that are dark to unknown. The caller has locked them."""
    await execute(connection, DARK.forget_stock, {"ids": list(store_ids)})


async def lighten_store(connection: Connection, store_id: int, sequence: int) -> None:
    """End the darkness of a store with the payload of this fetch, unless a newer one was applied."""
    await execute(connection, DARK.lighten_store, {"store_id": store_id, "sequence": sequence})


async def count_dark_stores(connection: Connection) -> StoresInTrouble:
    """Count the dark stores among those that may be crawled."""
    return (await fetch(connection, DARK.count_dark_stores, {"named": NAMED}, class_row(StoresInTrouble)))[0]


async def count_same_id(connection: Connection, store_id: int) -> int:
    """Count a search that found a store's unknown id again; return the number in a row, until a menu or a new id."""
    [finds] = await fetch(connection, DARK.count_same_id, {"store_id": store_id}, scalar_row)
    return int(finds)


async def count_lost_ids(connection: Connection) -> StoresInTrouble:
    """Count the stores that need investigation, since searches keep finding their unknown id."""
    parameters = {"limit": SAME_ID_LIMIT, "named": NAMED}
    return (await fetch(connection, DARK.count_lost_ids, parameters, class_row(StoresInTrouble)))[0]
