"""Where a client's connections come from: the caller's pool, or one of its own that is opened when first needed."""

from __future__ import annotations

import asyncio
from threading import Lock
from typing import Any

from psycopg_pool import AsyncConnectionPool, ConnectionPool

from rolecall.client.source import Source
from rolecall.db.connect import Pooler, async_pool, pool

__all__ = ["AsyncPool", "AsyncPools", "Pool", "Pools"]

Pool = ConnectionPool[Any]
AsyncPool = AsyncConnectionPool[Any]


class Pools:
    """The sync face's pool; a given one stays its giver's to close."""

    def __init__(self, database: str | Pool | None, *, pooled: bool | None) -> None:
        self._source = Source(database if isinstance(database, str) else None, pooled=pooled)
        self._given = database if isinstance(database, ConnectionPool) else None
        self._own: Pool | None = None
        self._turn = Lock()

    def get(self) -> Pool:
        """Return the pool, opened."""
        if self._given is not None:
            return self._given
        with self._turn:
            if self._own is None:
                own = pool(self._source.attach(), "client", Pooler(told=self._source.pooled()))
                own.open()
                self._own = own
            return self._own

    def close(self) -> None:
        """Close what is our own; may be called again, and a later `get` opens anew."""
        with self._turn:
            own, self._own = self._own, None
            if own is not None:
                own.close()
            self._source.detach()


class AsyncPools:
    """The async face's pool; a given one stays its giver's to close."""

    def __init__(self, database: str | AsyncPool | None, *, pooled: bool | None) -> None:
        self._source = Source(database if isinstance(database, str) else None, pooled=pooled)
        self._given = database if isinstance(database, AsyncConnectionPool) else None
        self._own: AsyncPool | None = None
        self._turn = asyncio.Lock()

    async def get(self) -> AsyncPool:
        """Return the pool, opened."""
        if self._given is not None:
            return self._given
        async with self._turn:
            if self._own is None:
                dsn = await asyncio.to_thread(self._source.attach)
                own = async_pool(dsn, "client", Pooler(told=self._source.pooled()))
                await own.open()
                self._own = own
            return self._own

    async def close(self) -> None:
        """Close what is our own; may be called again, and a later `get` opens anew."""
        async with self._turn:
            own, self._own = self._own, None
            if own is not None:
                await own.close()
            await asyncio.to_thread(self._source.detach)
