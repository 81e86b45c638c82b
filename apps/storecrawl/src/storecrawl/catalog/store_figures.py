"""What there is of each store at this moment, counted for the few stores that somebody looks at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from psycopg.rows import class_row, scalar_row, tuple_row

from storecrawl.catalog.sql import STORES
from storecrawl.statements import Connection, fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFigures:
    """Products on the menu and how many of them can be bought; what the cheapest and the dearest option cost, in cents.

    `payloads` is how often the store was fetched.
    """

    store_id: int
    products: int
    in_stock: int
    lowest_cents: int | None
    highest_cents: int | None
    payloads: int


async def store_figures(connection: Connection, store_ids: Iterable[int]) -> dict[int, StoreFigures]:
    """The figures of these stores, by id; each costs reading its whole menu."""
    rows = await fetch(connection, STORES.figures_of_stores, {"ids": list(store_ids)}, class_row(StoreFigures))
    return {row.store_id: row for row in rows}


async def store_names(connection: Connection, store_ids: Iterable[int]) -> dict[int, str]:
    """The names of these stores, by id."""
    return dict(await fetch(connection, STORES.names_of_stores, {"ids": list(set(store_ids))}, tuple_row))


async def states(connection: Connection) -> list[str]:
    """The states that have stores, in order."""
    return await fetch(connection, STORES.list_states, {}, scalar_row)
