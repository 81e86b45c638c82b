"""Stores: their records, their figures, and those whose menu the upstream refuses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from psycopg.rows import class_row, scalar_row, tuple_row

from storecrawl.catalog.errors import UnknownStore
from storecrawl.catalog.sql import STORES
from storecrawl.statements import Connection, containing_pattern, fetch

LONGEST = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A store's record.

    Since `blocked_at`, the upstream refuses its menu; it is tried again at `blocked_until`. Since `dark_since`, its
    stock is unknown, as it had no menu for some rounds. `same_id_finds` searches in a row found its id, which the
    platform does not know.
    """

    id: int
    platform: str | None
    platform_store_id: str | None
    endpoint: str | None
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
    dark_since: datetime | None
    same_id_finds: int
    blocked_at: datetime | None
    blocked_until: datetime | None
    blocked_because: str | None

    @property
    def entry(self) -> str | None:
        """The store's name on the platform: its id, otherwise its slug."""
        return self.platform_store_id or self.slug


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFilter:
    """Filters of stores: by state, platform, `blocked`, `dark`, or `text` in name, slug, chain or city."""

    state: str | None = None
    platform: str | None = None
    text: str | None = None
    blocked: bool = False
    dark: bool = False
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
    platform: str | None = None,
    limit: int | None = None,
    now: datetime | None = None,
) -> list[DueStore]:
    """Return enabled stores with a platform id that were not fetched within the interval, the longest unfetched first.

    Callers must check for open tasks themselves. `now` defaults to the database's clock.
    """
    parameters = {"interval": interval, "state": state, "platform": platform, "limit": limit, "now": now}
    return await fetch(connection, STORES.stores_due, parameters, class_row(DueStore))


async def list_stores(connection: Connection, criteria: StoreFilter) -> list[Store]:
    """Return a page of stores by id."""
    parameters = {
        "state": criteria.state and criteria.state.upper(),
        "platform": criteria.platform,
        "pattern": containing_pattern(criteria.text),
        "blocked": criteria.blocked,
        "dark": criteria.dark,
        "after": criteria.after,
        "limit": criteria.limit,
    }
    return await fetch(connection, STORES.list_stores, parameters, class_row(Store))


async def find_store(connection: Connection, store_id: int) -> Store:
    """Return a store. Raises UnknownStore."""
    for store in await list_stores(connection, StoreFilter(after=store_id - 1, limit=1)):
        if store.id == store_id:
            return store
    raise UnknownStore([store_id])


async def crawlable_stores(
    connection: Connection, *, state: str | None = None, platform: str | None = None
) -> list[int]:
    """Return the ids of enabled stores with a platform id, of all states and platforms or one, in order."""
    parameters = {"state": state, "platform": platform, "ids": None}
    return await fetch(connection, STORES.crawlable_stores, parameters, scalar_row)


async def require_crawlable(connection: Connection, store_ids: Sequence[int]) -> None:
    """Raise UnknownStore with the ids of the stores that must not be crawled, if any."""
    parameters = {"state": None, "platform": None, "ids": list(store_ids)}
    found = await fetch(connection, STORES.crawlable_stores, parameters, scalar_row)
    if unfit := [store_id for store_id in dict.fromkeys(store_ids) if store_id not in set(found)]:
        raise UnknownStore(unfit, noun="enabled store with a platform id:")


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunFetch:
    """A fetch of a store: its number and its time. The number orders fetches, since a clock can be wrong."""

    sequence: int
    begun_at: datetime


async def begin_fetch(connection: Connection, store_id: int) -> BegunFetch:
    """Give a fetch that begins now its number. Raises UnknownStore."""
    for begun in await fetch(connection, STORES.begin_fetch, {"store_id": store_id}, class_row(BegunFetch)):
        return begun
    raise UnknownStore([store_id])


@dataclass(frozen=True, slots=True, kw_only=True)
class FutureFetches:
    """How many payloads have a fetch time in the future, in how many stores, and the latest one."""

    payloads: int
    stores: int
    store_id: int | None
    fetched_at: datetime | None


async def count_future_fetches(connection: Connection) -> FutureFetches:
    """Count the payloads whose fetch time is in the future by the database's clock."""
    return (await fetch(connection, STORES.count_future_fetches, {}, class_row(FutureFetches)))[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockedStores:
    """The number of blocked stores, the time of the first block and the reason of the latest."""

    blocked: int
    stores: int
    since: datetime | None
    because: str | None


async def block_store(connection: Connection, store_id: int, reason: str, *, first: timedelta) -> float:
    """Block a store; return for how many seconds: `first`, doubled for each block in a row, at most a day."""
    parameters = {
        "store_id": store_id,
        "because": reason,
        "first": first.total_seconds(),
        "longest": LONGEST.total_seconds(),
    }
    [seconds] = await fetch(connection, STORES.block_store, parameters, scalar_row)
    return float(seconds)


async def count_blocked_stores(connection: Connection) -> BlockedStores:
    """Count the blocked stores."""
    return (await fetch(connection, STORES.count_blocked_stores, {}, class_row(BlockedStores)))[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFigures:
    """A store's products on the menu, how many of them are available, and the lowest and highest price in cents.

    `payloads` is the number of fetches. The menu of a dark store does not count.
    """

    store_id: int
    products: int
    in_stock: int
    lowest_cents: int | None
    highest_cents: int | None
    payloads: int


async def store_figures(connection: Connection, store_ids: Iterable[int]) -> dict[int, StoreFigures]:
    """Return the figures of stores, by id; reads the whole menu of each."""
    rows = await fetch(connection, STORES.figures_of_stores, {"ids": list(store_ids)}, class_row(StoreFigures))
    return {row.store_id: row for row in rows}


async def store_names(connection: Connection, store_ids: Iterable[int]) -> dict[int, str]:
    """Return the names of stores, by id."""
    return dict(await fetch(connection, STORES.names_of_stores, {"ids": list(set(store_ids))}, tuple_row))


async def states(connection: Connection) -> list[str]:
    """Return the states that have stores, in order."""
    return await fetch(connection, STORES.list_states, {}, scalar_row)
