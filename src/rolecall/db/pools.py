"""Connection pools that lend only connections that are alive, and the pools of clients."""

from __future__ import annotations

import asyncio
import atexit
import os
import select
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from threading import Lock
from time import monotonic
from typing import Any, Protocol

import psycopg
from psycopg_pool import AsyncConnectionPool, ConnectionPool, PoolTimeout

from rolecall.db.connect import OURS, connect, connect_async, with_defaults
from rolecall.db.joined import AnyConnection, AsyncAnyConnection, join, join_async
from rolecall.db.pooler import AsyncConnection, Connection, Pooler
from rolecall.db.run import FROM_PSYCOPG, translate
from rolecall.model.errors import DatabaseUnavailable
from rolecall.model.transactions import AsyncJoinable, Joinable

Pool = ConnectionPool[Any]
AsyncPool = AsyncConnectionPool[Any]
ALL_IN_USE = "every connection of the pool is in use"
# Seconds after which a pooled connection is checked before it is lent.
CHECK_AFTER = 1.0


class DatabaseSource(Protocol):
    """Finds the database of a client when it is first needed."""

    def attach(self) -> str:
        """Return the connection string."""

    def pooled(self) -> bool | None:
        """Return whether there is a pooler; None means that it must be detected."""

    def detach(self) -> None:
        """Release the database, which may be attached again later."""


class Pools:
    """The sync client's pool. A pool of the caller is not closed.

    Each process has its own pool. A forked child inherits the sessions of its parent, without the pool's threads,
    and does not touch them.
    """

    def __init__(self, source: DatabaseSource, callers_pool: Pool | None = None) -> None:
        self._source = source
        self._callers_pool = callers_pool
        self._own_pool: dict[int, Pool] = {}
        self._dsn: str | None = None
        # Per process: a lock that another thread held at the fork would never be released.
        self._turns: dict[int, Lock] = {}
        _close_at_exit(self)

    @contextmanager
    def lend(self, joined: Joinable | None) -> Iterator[AnyConnection]:
        """Lend the caller's connection, or one of the pool, for the block. Translates errors within it into ours."""
        try:
            if joined is not None:
                yield join(joined)
                return
            with self.connection() as connection:
                yield connection
        except FROM_PSYCOPG as error:
            raise translate(error) from error

    @contextmanager
    def connection(self) -> Iterator[psycopg.Connection[Any]]:
        """Lend a connection for the block. Raises DatabaseUnavailable, with the reason, unless the pool is the
        caller's.
        """
        lender = self.get()
        try:
            with lender.connection() as connection:
                yield connection
        except PoolTimeout as late:
            # The caller's pool has no DSN.
            if self._dsn is None:
                raise
            try:
                require_answer(self._dsn)
            except DatabaseUnavailable as error:
                raise _unavailable(late, error) from error
            raise _unavailable(late, ALL_IN_USE) from late

    def get(self) -> Pool:
        """Return the open pool. Raises DatabaseUnavailable at once if the server rejects the connection."""
        if self._callers_pool is not None:
            return self._callers_pool
        process = os.getpid()
        with self._turns.setdefault(process, Lock()):
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
        with self._turns.setdefault(process, Lock()):
            own = self._own_pool.pop(process, None)
            if own is not None:
                own.close()
            self._source.detach()


class AsyncPools:
    """The async client's pool. A pool of the caller is not closed."""

    def __init__(self, source: DatabaseSource, callers_pool: AsyncPool | None = None) -> None:
        self._source = source
        self._callers_pool = callers_pool
        self._own_pool: AsyncPool | None = None
        self._dsn: str | None = None
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def lend(self, joined: AsyncJoinable | None) -> AsyncIterator[AsyncAnyConnection]:
        """Lend the caller's connection, or one of the pool, for the block. Translates errors within it into ours."""
        try:
            if joined is not None:
                yield join_async(joined)
                return
            async with self.connection() as connection:
                yield connection
        except FROM_PSYCOPG as error:
            raise translate(error) from error

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """Lend a connection for the block. Raises DatabaseUnavailable, with the reason, unless the pool is the
        caller's.
        """
        lender = await self.get()
        try:
            async with lender.connection() as connection:
                yield connection
        except PoolTimeout as late:
            if self._dsn is None:
                raise
            try:
                await require_answer_async(self._dsn)
            except DatabaseUnavailable as error:
                raise _unavailable(late, error) from error
            raise _unavailable(late, ALL_IN_USE) from late

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


def _unavailable(late: PoolTimeout, reason: object) -> DatabaseUnavailable:
    return DatabaseUnavailable(f"{late}: {reason}")


class LivePool(ConnectionPool[Connection]):
    """Lends only connections that are alive.

    The library's `check` does the same, but sleeps for a second after it has found a dead connection.
    """

    def getconn(self, timeout: float | None = None) -> Connection:
        for _ in range(self.max_size):
            connection = super().getconn(timeout)
            try:
                if _may_be_dead(connection):
                    self.check_connection(connection)
            except psycopg.OperationalError:
                self.putconn(connection)  # the pool replaces it
            except BaseException:
                self.putconn(connection)
                raise
            else:
                return connection
        return super().getconn(timeout)


class AsyncLivePool(AsyncConnectionPool[AsyncConnection]):
    """Lends only connections that are alive, as LivePool does."""

    async def getconn(self, timeout: float | None = None) -> AsyncConnection:
        for _ in range(self.max_size):
            connection = await super().getconn(timeout)
            try:
                if _may_be_dead(connection):
                    await self.check_connection(connection)
            except psycopg.OperationalError:
                await self.putconn(connection)
            except BaseException:
                await self.putconn(connection)
                raise
            else:
                return connection
        return await super().getconn(timeout)


def _may_be_dead(connection: Connection | AsyncConnection) -> bool:
    """Whether a pooled connection must be checked: after a while, or if data has arrived on it.

    A server that ends a connection sends a message and closes it.
    """
    now = monotonic()
    idle_seconds, connection.lent_at = now - connection.lent_at, now
    if idle_seconds > CHECK_AFTER:
        return True
    poll = select.poll()
    poll.register(connection.pgconn.socket, select.POLLIN)
    return bool(poll.poll(0))


def pool(dsn: str, what: str, pooler: Pooler | None = None, *, max_size: int = 4) -> ConnectionPool[Connection]:
    """Create a pool of autocommit connections that is not open yet."""
    known = pooler or Pooler()
    return LivePool(
        with_defaults(dsn, what),
        connection_class=Connection,
        min_size=0,
        max_size=max_size,
        open=False,
        timeout=10.0,
        kwargs=dict(OURS),
        configure=lambda connection: connection.introduce(known),
        name=what,
    )


def async_pool(
    dsn: str, what: str, pooler: Pooler | None = None, *, max_size: int = 4, timeout: float = 10.0
) -> AsyncConnectionPool[AsyncConnection]:
    """Create a pool of autocommit connections that is not open yet; `timeout` is the wait for a connection in
    seconds.
    """
    known = pooler or Pooler()
    return AsyncLivePool(
        with_defaults(dsn, what),
        connection_class=AsyncConnection,
        min_size=0,
        max_size=max_size,
        open=False,
        timeout=timeout,
        kwargs=dict(OURS),
        configure=lambda connection: connection.introduce(known),
        name=what,
    )
