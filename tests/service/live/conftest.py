"""A watched pool, and a database that records queries."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Any, TypeVar

import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool

from rolecall.db.connect import connect_async
from rolecall.db.pools import async_pool
from rolecall.model.audit import Actor
from rolecall.service.database import PooledDatabase
from rolecall.service.live import Live
from rolecall.sql import roles
from rolecall.sql.statement import Statement

T = TypeVar("T")
ACTOR = Actor(name="live", via="system")


class Recorded(PooledDatabase):
    """A database that records every query, and can run a function after the next one."""

    def __init__(self, pool: AsyncConnectionPool[Any], actor: Actor) -> None:
        super().__init__(pool, actor)
        self.queries: list[str] = []
        self.after_next: Awaitable[object] | None = None

    async def run(self, statement: Statement[T]) -> T:
        self.queries.append(statement.query)
        answer = await super().run(statement)
        after, self.after_next = self.after_next, None
        if after is not None:
            await after
        return answer

    def looks(self) -> int:
        """Return how many times changes were queried."""
        return sum("rolecall.changes(%s" in query for query in self.queries)


@pytest.fixture
async def recorded(database: str) -> AsyncIterator[Recorded]:
    async with async_pool(database, "web") as pool:
        recorded = Recorded(pool, ACTOR)
        declared = [{"name": "sums"}, {"name": "other"}]
        await recorded.run(roles.declare(declared, [{"name": "add", "role": "sums"}, {"name": "see", "role": "other"}]))
        recorded.queries.clear()
        yield recorded


@pytest.fixture
def closing() -> asyncio.Event:
    return asyncio.Event()


@pytest.fixture
async def live(database: str, recorded: Recorded, closing: asyncio.Event) -> AsyncIterator[Live]:
    live = Live(recorded, lambda: connect_async(database, "live"), closing, most_streams=3)
    yield live
    await live.close()


@pytest.fixture
async def other(database: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    async with await connect_async(database, "other") as connection:
        yield connection
