"""Which stores there are, which may be crawled, and which are due for their next fetch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from psycopg.rows import class_row, scalar_row

from storecrawl.catalog.errors import UnknownStore
from storecrawl.catalog.sql import STORES
from storecrawl.statements import Connection, containing, fetch


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


async def list_stores(connection: Connection, which: StoreFilter) -> list[Store]:
    """A page of stores by id."""
    parameters = {
        "state": which.state and which.state.upper(),
        "pattern": containing(which.text),
        "blocked": which.blocked,
        "after": which.after,
        "limit": which.limit,
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
        raise UnknownStore(unfit, wanted="enabled store with a platform id:")
