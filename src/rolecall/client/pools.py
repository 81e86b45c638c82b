"""The connection pools of clients: the caller's, or one that is opened when first needed."""

from __future__ import annotations

import asyncio
import atexit
import os
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg_pool import AsyncConnectionPool, ConnectionPool, PoolTimeout

from rolecall.config import read_database
from rolecall.db.connect import async_pool, connect, connect_async, pool
from rolecall.db.pooler import Pooler
from rolecall.model.errors import DatabaseUnavailable
from rolecall.model.platforms import refuse_windows

if TYPE_CHECKING:
    from rolecall.db.embedded.server import EmbeddedServer

Pool = ConnectionPool[Any]
AsyncPool = AsyncConnectionPool[Any]
ALL_IN_USE = "every connection of the pool is in use"


class Pools:
    """The sync client's pool. A pool of the caller is not closed.

    Each process has its own pool. A forked child inherits the sessions of its parent, without the pool's threads,
    and does not touch them.
    """

    def __init__(self, database: str | Pool | None, *, pooled: bool | None) -> None:
        self._source = Source(database if isinstance(database, str) else None, pooled=pooled)
        self._callers_pool = database if isinstance(database, ConnectionPool) else None
        self._own_pool: dict[int, Pool] = {}
        self._dsn: str | None = None
        self._turns: dict[int, Lock] = {}
        _close_at_exit(self)

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Any]]:
        """Lend a connection for the block. Raises DatabaseUnavailable, with the reason."""
        lender = self.get()
        with explaining_timeouts(self._dsn), lender.connection() as connection:
            yield connection

    def get(self) -> Pool:
        """Return the open pool. Raises DatabaseUnavailable at once if the server rejects the connection."""
        if self._callers_pool is not None:
            return self._callers_pool
        process = os.getpid()
        with self._turn(process):
            if process not in self._own_pool:
                self._dsn = self._source.attach()
                require_answer(self._dsn)
                own = pool(self._dsn, "client", Pooler(configured=self._source.pooled()))
                own.open()
                self._own_pool[process] = own
            return self._own_pool[process]

    def close(self) -> None:
        """Close the client's own pool. It is opened again by a later `get`."""
        process = os.getpid()
        with self._turn(process):
            own = self._own_pool.pop(process, None)
            if own is not None:
                own.close()
            self._source.detach()

    def _turn(self, process: int) -> Lock:
        # Locks are per process: one that another thread held at the fork would never be released.
        return self._turns.setdefault(process, Lock())


class AsyncPools:
    """The async client's pool. A pool of the caller is not closed."""

    def __init__(self, database: str | AsyncPool | None, *, pooled: bool | None) -> None:
        self._source = Source(database if isinstance(database, str) else None, pooled=pooled)
        self._callers_pool = database if isinstance(database, AsyncConnectionPool) else None
        self._own_pool: AsyncPool | None = None
        self._dsn: str | None = None
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """Lend a connection for the block. Raises DatabaseUnavailable, with the reason."""
        lender = await self.get()
        async with explaining_timeouts_async(self._dsn), lender.connection() as connection:
            yield connection

    async def get(self) -> AsyncPool:
        """Return the open pool. Raises DatabaseUnavailable at once if the server rejects the connection."""
        if self._callers_pool is not None:
            return self._callers_pool
        async with self._turn:
            if self._own_pool is None:
                self._dsn = await asyncio.to_thread(self._source.attach)
                await require_answer_async(self._dsn)
                own = async_pool(self._dsn, "client", Pooler(configured=self._source.pooled()))
                await own.open()
                self._own_pool = own
            return self._own_pool

    async def close(self) -> None:
        """Close the client's own pool. It is opened again by a later `get`."""
        async with self._turn:
            own, self._own_pool = self._own_pool, None
            if own is not None:
                await own.close()
            await asyncio.to_thread(self._source.detach)


def _close_at_exit(pools: Pools) -> None:
    """Close a pool that was left open: the interpreter would wait for its threads, which cannot end by then."""

    def close() -> None:
        left_open = reference()
        if left_open is not None:
            left_open.close()

    reference = weakref.ref(pools, lambda _: atexit.unregister(close))
    atexit.register(close)


def require_answer(dsn: str) -> None:
    """Raise DatabaseUnavailable, with the server's reason, unless a connection succeeds now."""
    connect(dsn, "client").close()


async def require_answer_async(dsn: str) -> None:
    """Raise DatabaseUnavailable, with the server's reason, unless a connection succeeds now."""
    await (await connect_async(dsn, "client")).close()


@contextmanager
def explaining_timeouts(dsn: str | None) -> Iterator[None]:
    """Turn a PoolTimeout into DatabaseUnavailable with the reason. For the caller's pool (no DSN) it is re-raised."""
    try:
        yield
    except PoolTimeout as late:
        if dsn is None:
            raise
        try:
            require_answer(dsn)
        except DatabaseUnavailable as error:
            raise _unavailable(late, error) from error
        raise _unavailable(late, ALL_IN_USE) from late


@asynccontextmanager
async def explaining_timeouts_async(dsn: str | None) -> AsyncIterator[None]:
    """Turn a PoolTimeout into DatabaseUnavailable with the reason. For the caller's pool (no DSN) it is re-raised."""
    try:
        yield
    except PoolTimeout as late:
        if dsn is None:
            raise
        try:
            await require_answer_async(dsn)
        except DatabaseUnavailable as error:
            raise _unavailable(late, error) from error
        raise _unavailable(late, ALL_IN_USE) from late


def _unavailable(late: PoolTimeout, reason: object) -> DatabaseUnavailable:
    return DatabaseUnavailable(f"{late}: {reason}")


class Source:
    """Finds the database when it is first needed, and keeps the embedded server running meanwhile."""

    def __init__(self, dsn: str | None, *, pooled: bool | None = None) -> None:
        self._dsn = dsn
        self._pooled = pooled
        self._server: EmbeddedServer | None = None

    def attach(self) -> str:
        """Return the connection string.

        If no database is configured, start or join the embedded server and migrate it.
        """
        if self._dsn is not None:
            return self._dsn
        settings = read_database()
        return self._start(settings.data_dir) if settings.url is None else settings.url

    def _start(self, data_dir: Path) -> str:
        refuse_windows("the embedded server", "name a Postgres by DATABASE_URL")
        # Imported only when needed: these imports are slow, and fail on Windows.
        from rolecall.db.embedded.server import EmbeddedServer  # noqa: PLC0415
        from rolecall.db.migrator import bring_up_to_date  # noqa: PLC0415

        self._server = self._server or EmbeddedServer(data_dir)
        self._server.attach()
        dsn = self._server.dsn()
        bring_up_to_date(dsn)
        return dsn

    def pooled(self) -> bool | None:
        """Return whether there is a pooler, from the argument or ROLECALL_POOLED; None means that it must be
        detected.
        """
        return read_database().pooled if self._pooled is None else self._pooled

    def detach(self) -> None:
        """Release the embedded server. The last process to do so stops it."""
        server, self._server = self._server, None
        if server is not None:
            server.detach()
