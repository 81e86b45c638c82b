"""What the pool has to do for stores, seen from the stores: what failed, and when each is fetched next.

And the few columns of a store that the roles need.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from psycopg.rows import class_row

from storecrawl.roles.crawler import store_key

Connection = psycopg.AsyncConnection[Any]
FETCHES = ["payload_fetch", "product_discovery", "product_resync"]
# Each part of it has an index: pending tasks by key, what runs, and what has failed.
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
    """A store's tasks: those that are kept and failed, those that wait for another attempt, whether one runs now.

    `next_fetch_at` is when the next fetch is due; None where none is planned.
    """

    store_id: int
    failed: int
    retrying: int
    running: bool
    next_fetch_at: datetime | None


async def read_store_tasks(connection: Connection, store_ids: Iterable[int]) -> dict[int, StoreTasks]:
    """Look at the tasks of these stores; the answer has all of them, by id."""
    ids = list(store_ids)
    parameters = {"ids": ids, "keys": [store_key(store_id) for store_id in ids], "fetches": FETCHES}
    cursor = connection.cursor(row_factory=class_row(StoreTasks))
    rows = await (await cursor.execute(STORE_TASKS, parameters)).fetchall()
    return {row.store_id: row for row in rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlStore:
    """A store that may be crawled."""

    id: int
    platform_store_id: str
    recreational: bool | None
    medical: bool | None

    @property
    def pricing_types(self) -> tuple[str, ...]:
        """Which of the platform's two price lists the store has: each shows products that the other lacks."""
        if self.recreational is False:
            return ("med",)
        return ("rec", "med") if self.medical else ("rec",)


async def find_store(connection: Connection, store_id: int) -> CrawlStore | None:
    """Return the store if it is enabled and has a platform id."""
    cursor = connection.cursor(row_factory=class_row(CrawlStore))
    await cursor.execute(
        "select id, platform_store_id, recreational, medical from storecrawl.stores"
        " where id = %s and crawl_enabled and platform_store_id is not null",
        (store_id,),
    )
    return await cursor.fetchone()


async def database_time(connection: Connection) -> datetime:
    """Return the database's time: the one clock by which payloads are older or newer."""
    cursor = await connection.execute("select clock_timestamp()")
    row = await cursor.fetchone()
    if row is None:
        raise LookupError("select returned no row")
    moment: datetime = row[0]
    return moment
