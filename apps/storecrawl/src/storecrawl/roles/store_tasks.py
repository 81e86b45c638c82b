"""The tasks of stores: which failed, and when each store is fetched next.

Also the few columns of a store that the roles need.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from psycopg.rows import class_row

from storecrawl.catalog.sql import STORES
from storecrawl.platforms.protocol import StoreAddress
from storecrawl.roles.crawler import store_key
from storecrawl.statements import fetch

Connection = psycopg.AsyncConnection[Any]
FETCHES = ["payload_fetch", "product_discovery", "product_resync"]
# Each part has an index: pending tasks by key, running tasks, failed tasks.
STORE_TASKS = """
with of_stores as (
    select key, state, status, handler, scheduled_for
    from rolecall.all_tasks
    where finished_at is null and state = 'pending' and key = any(%(keys)s)
    union all
    select key, state, status, handler, scheduled_for
    from rolecall.all_tasks
    where finished_at is null and state = 'running' and worker_id is not null and key = any(%(keys)s)
    union all
    select key, state, status, handler, scheduled_for
    from rolecall.all_tasks
    where finished_at is not null and state = 'failed' and key = any(%(keys)s)
)
select
    given.store_id,
    count(*) filter (where state = 'failed') as failed,
    count(*) filter (where status = 'retrying') as retrying,
    coalesce(bool_or(state = 'running'), false) as running,
    min(scheduled_for) filter (where state = 'pending' and handler = any(%(fetches)s)) as next_fetch_at
from unnest(%(ids)s::bigint[], %(keys)s::text[]) as given (store_id, key)
left join of_stores using (key)
group by given.store_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreTasks:
    """A store's tasks: how many failed, how many wait for another attempt, and whether one is running.

    `next_fetch_at` is the time of the next fetch; None if not planned.
    """

    store_id: int
    failed: int
    retrying: int
    running: bool
    next_fetch_at: datetime | None


async def read_store_tasks(connection: Connection, store_ids: Iterable[int]) -> dict[int, StoreTasks]:
    """Return the tasks of these stores, by id; every store is included."""
    ids = list(store_ids)
    parameters = {"ids": ids, "keys": [store_key(store_id) for store_id in ids], "fetches": FETCHES}
    cursor = connection.cursor(row_factory=class_row(StoreTasks))
    rows = await (await cursor.execute(STORE_TASKS, parameters)).fetchall()
    return {row.store_id: row for row in rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlStore:
    """A store that may be crawled."""

    id: int
    platform: str
    platform_store_id: str
    slug: str | None
    endpoint: str | None
    recreational: bool | None
    medical: bool | None
    same_id_finds: int

    @property
    def address(self) -> StoreAddress:
        return StoreAddress(
            platform_store_id=self.platform_store_id,
            slug=self.slug,
            endpoint=self.endpoint,
            recreational=self.recreational,
            medical=self.medical,
        )


async def find_store(connection: Connection, store_id: int) -> CrawlStore | None:
    """Return the store if it is enabled and has a platform id, otherwise None."""
    rows = await fetch(connection, STORES.store_to_crawl, {"store_id": store_id}, class_row(CrawlStore))
    return rows[0] if rows else None


async def database_time(connection: Connection) -> datetime:
    """Return the database's time."""
    cursor = await connection.execute("select clock_timestamp()")
    row = await cursor.fetchone()
    if row is None:
        raise LookupError("select returned no row")
    moment: datetime = row[0]
    return moment
