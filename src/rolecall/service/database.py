"""The database interface of the services: it runs statements, and records changes in the audit log."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from rolecall.db.run import run_and_async, run_async, translating_errors
from rolecall.model.audit import Actor, AuditEvent
from rolecall.model.errors import DatabaseUnavailable
from rolecall.sql import audit
from rolecall.sql.events import EventCollector
from rolecall.sql.statement import Statement
from rolecall.telemetry import Emits, Emitter

T = TypeVar("T")
# The SQLSTATE of a query that was cancelled because it took too long.
QUERY_CANCELED = "57014"
# Seconds in which a database that is not down answers the smallest query.
PROMPT = 2.0
Inspection = Callable[[psycopg.AsyncConnection[Any]], Awaitable[T]]


class Database(Protocol):
    """Runs statements and returns their results. Raises model errors. Each call is its own transaction."""

    @property
    def actor(self) -> Actor:
        """The actor of the changes."""

    @property
    def dsn(self) -> str:
        """The connection string, for separate connections. It contains the password."""

    async def run(self, statement: Statement[T]) -> T:
        """Run a query."""

    async def inspect(self, inspection: Inspection[T]) -> T:
        """Call `inspection` with a connection, in its own transaction. Its errors are raised unchanged."""

    async def act(self, event: AuditEvent, statement: Statement[T], before: Statement[Any] | None = None) -> T:
        """Run a statement that changes something, and record the event in the same transaction.

        The result of `before`, read before the change, is recorded too: for deletions.
        """

    async def note(self, event: AuditEvent, outcome: object) -> None:
        """Record an event that happens outside the database."""


class OneConnection:
    """A database on a single connection, one statement at a time.

    Events caused by its changes are sent to the emitter.
    """

    def __init__(self, connection: psycopg.AsyncConnection[Any], actor: Actor, emitter: Emits | None = None) -> None:
        self._connection = connection
        self._emitter = emitter or Emitter()
        self.actor = actor

    @property
    def dsn(self) -> str:
        info = self._connection.info
        return make_conninfo(**info.get_parameters(), password=info.password)

    async def run(self, statement: Statement[T]) -> T:
        return await run_async(self._connection, statement)

    async def inspect(self, inspection: Inspection[T]) -> T:
        async with self._connection.transaction():
            return await inspection(self._connection)

    async def act(self, event: AuditEvent, statement: Statement[T], before: Statement[Any] | None = None) -> T:
        def make_entry(stored: Any, answer: T) -> Statement[None]:
            entry = event if before is None else replace(event, detail={**event.detail, "was": stored})
            return audit.record(self.actor, entry, answer)

        collector = EventCollector() if self._emitter.event_types & statement.event_kinds else None
        answer = await run_and_async(self._connection, statement, make_entry, before, collector)
        if collector is not None:
            self._emitter.emit(collector.events)
        return answer

    async def note(self, event: AuditEvent, outcome: object) -> None:
        await run_async(self._connection, audit.record(self.actor, event, outcome))


class InTransaction:
    """A database within a transaction that its owner commits. A failed call rolls back to a savepoint.

    The owner's emitter must hold back events until the commit.
    """

    def __init__(self, connection: psycopg.AsyncConnection[Any], actor: Actor, emitter: Emits | None = None) -> None:
        self._connection = connection
        self._within = OneConnection(connection, actor, emitter)
        self.actor = actor

    @property
    def dsn(self) -> str:
        return self._within.dsn

    async def run(self, statement: Statement[T]) -> T:
        async with self._connection.transaction():
            return await self._within.run(statement)

    async def inspect(self, inspection: Inspection[T]) -> T:
        return await self._within.inspect(inspection)

    async def act(self, event: AuditEvent, statement: Statement[T], before: Statement[Any] | None = None) -> T:
        async with self._connection.transaction():
            return await self._within.act(event, statement, before)

    async def note(self, event: AuditEvent, outcome: object) -> None:
        async with self._connection.transaction():
            await self._within.note(event, outcome)


class PooledDatabase:
    """A database on a pool, with any number of concurrent statements. Queries may use a separate pool, `reads`.

    A query that takes longer than `longest_read` seconds is also cancelled in the server, and raises
    DatabaseUnavailable.
    """

    def __init__(
        self,
        pool: AsyncConnectionPool[Any],
        actor: Actor,
        reads: AsyncConnectionPool[Any] | None = None,
        longest_read: float | None = None,
        emitter: Emits | None = None,
    ) -> None:
        self._pool = pool
        self._emitter = emitter
        self._reads = reads or pool
        self._longest_read = longest_read
        self.actor = actor

    @property
    def dsn(self) -> str:
        return str(self._pool.conninfo)

    async def run(self, statement: Statement[T]) -> T:
        with translating_errors():
            async with self._reads.connection() as connection:
                return await self._in_time(OneConnection(connection, self.actor).run(statement))

    async def inspect(self, inspection: Inspection[T]) -> T:
        async with self._reads.connection() as connection:
            return await OneConnection(connection, self.actor).inspect(inspection)

    async def act(self, event: AuditEvent, statement: Statement[T], before: Statement[Any] | None = None) -> T:
        with translating_errors():
            async with self._pool.connection() as connection:
                return await OneConnection(connection, self.actor, self._emitter).act(event, statement, before)

    async def note(self, event: AuditEvent, outcome: object) -> None:
        with translating_errors():
            async with self._pool.connection() as connection:
                await OneConnection(connection, self.actor).note(event, outcome)

    async def find_slowness(self, error: DatabaseUnavailable) -> str | None:
        """Return why a query failed if it was only slow, as the rest of a sentence. None if the database is away.

        This sends the smallest query on the pool for changes, which slow queries do not occupy.
        """
        if error.sqlstate == QUERY_CANCELED:
            reason = f"took longer than {self._longest_read:g} s" if error.__cause__ is None else "was cancelled"
        elif isinstance(error.__cause__, PoolTimeout):
            reason = "found no free connection to the database"
        else:
            return None
        try:
            async with asyncio.timeout(PROMPT), self._pool.connection() as connection:
                await connection.execute("select 1")
        except (psycopg.Error, TimeoutError):
            return None
        return reason

    async def _in_time(self, answer: Awaitable[T]) -> T:
        # Not statement_timeout: behind a pooler, it would stay set for the next client.
        try:
            async with asyncio.timeout(self._longest_read):
                return await answer
        except TimeoutError:
            raise DatabaseUnavailable(f"no response within {self._longest_read:g} s", sqlstate=QUERY_CANCELED) from None
