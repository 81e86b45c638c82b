"""The few columns of a store that the roles need."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from psycopg.rows import class_row

Connection = psycopg.AsyncConnection[Any]


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
