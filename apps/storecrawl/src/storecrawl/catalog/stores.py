"""Stores: which there are, what there is of each at this moment, and those whose menu the upstream refuses to us."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from psycopg.rows import class_row, scalar_row, tuple_row

from storecrawl.catalog.errors import UnknownStore
from storecrawl.catalog.sql import STORES
from storecrawl.statements import Connection, containing, fetch

LONGEST = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A store as it is known.

    It is blocked from `blocked_at` on where the upstream refuses its menu, and asked again at `blocked_until`.
    """

    id: int
    platform_store_id: str | None
    name: str
    slug: str | None
    chain: str | None
    city: str | None
    state: str | None
    country: str | None
    timezone: str | None
    recreational: bool | None
    medical: bool | None
    crawl_enabled: bool
    last_fetch_at: datetime | None
    first_seen_at: datetime
    last_seen_at: datetime
    blocked_at: datetime | None
    blocked_until: datetime | None
    blocked_because: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFilter:
    """Which stores are listed: those of a state, the `blocked` ones; `text` is in name, slug, chain or city."""

    state: str | None = None
    text: str | None = None
    blocked: bool = False
    after: int = 0
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class DueStore:
    """A store that may be fetched again."""

    id: int
    platform_store_id: str
    slug: str | None
    name: str
    state: str | None
    last_fetch_at: datetime | None


async def stores_due(
    connection: Connection,
    interval: timedelta,
    state: str | None = None,
    limit: int | None = None,
    now: datetime | None = None,
) -> list[DueStore]:
    """Enabled stores with a platform id, not fetched within the interval, the longest unfetched first.

    Whether a task for the store is open already is for the caller to see to. `now` defaults to the
    database's clock.
    """
    parameters = {"interval": interval, "state": state, "limit": limit, "now": now}
    return await fetch(connection, STORES.stores_due, parameters, class_row(DueStore))


async def list_stores(connection: Connection, criteria: StoreFilter) -> list[Store]:
    """A page of stores by id."""
    parameters = {
        "state": criteria.state and criteria.state.upper(),
        "pattern": containing(criteria.text),
        "blocked": criteria.blocked,
        "after": criteria.after,
        "limit": criteria.limit,
    }
    return await fetch(connection, STORES.list_stores, parameters, class_row(Store))


async def find_store(connection: Connection, store_id: int) -> Store:
    """One store. Raises UnknownStore."""
    for store in await list_stores(connection, StoreFilter(after=store_id - 1, limit=1)):
        if store.id == store_id:
            return store
    raise UnknownStore([store_id])


async def crawlable_stores(connection: Connection, *, state: str | None = None) -> list[int]:
    """The ids of the stores that are enabled and known to the platform, of all states or one, in order."""
    return await fetch(connection, STORES.crawlable_stores, {"state": state, "ids": None}, scalar_row)


async def require_crawlable(connection: Connection, store_ids: Sequence[int]) -> None:
    """Raise UnknownStore, naming those of the stores that may not be crawled."""
    found = await fetch(connection, STORES.crawlable_stores, {"state": None, "ids": list(store_ids)}, scalar_row)
    if unfit := [store_id for store_id in dict.fromkeys(store_ids) if store_id not in set(found)]:
        raise UnknownStore(unfit, noun="enabled store with a platform id:")


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockedStores:
    """How many of the stores that may be crawled are blocked, since when the first of them, and why the latest."""

    blocked: int
    stores: int
    since: datetime | None
    because: str | None


async def block_store(connection: Connection, store_id: int, because: str, *, first: timedelta) -> float:
    """Note that a store is blocked; returns for how many seconds, `first` doubled each time in a row, to a day."""
    parameters = {
        "store_id": store_id,
        "because": because,
        "first": first.total_seconds(),
        "longest": LONGEST.total_seconds(),
    }
    [seconds] = await fetch(connection, STORES.block_store, parameters, scalar_row)
    return float(seconds)


async def count_blocked_stores(connection: Connection) -> BlockedStores:
    """How many stores are blocked now."""
    return (await fetch(connection, STORES.count_blocked_stores, {}, class_row(BlockedStores)))[0]


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
