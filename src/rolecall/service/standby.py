"""Queries on a standby, which may lag. Callers who have just changed something use the primary for a while.

GET requests ──► the standby ──► if it is away or cancels the query ──► the primary
other requests, and those of callers with a change in the last ten seconds ──► the primary
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any, TypeVar

from psycopg_pool import AsyncConnectionPool

from rolecall.model.audit import Actor, AuditEvent
from rolecall.model.errors import DatabaseError, DatabaseUnavailable
from rolecall.service.database import QUERY_CANCELED, Database, Inspection, PooledDatabase
from rolecall.sql.statement import Statement

T = TypeVar("T")

# Seconds. A healthy standby lags less.
CHANGES_ARRIVE_WITHIN = 10.0
REST_AFTER_FAILURE = 30.0

log = logging.getLogger("rolecall.web")


class Standby:
    """A pool of connections to a standby, for queries; `longest_read` is in seconds."""

    def __init__(self, pool: AsyncConnectionPool[Any], longest_read: float | None = None) -> None:
        self.pool = pool
        self._longest_read = longest_read
        self._changed: dict[str, float] = {}
        self._away_until = 0.0

    def note_change(self, name: str) -> None:
        """Note a change by this actor, whose next queries go to the primary."""
        now = monotonic()
        self._changed = {actor: until for actor, until in self._changed.items() if until > now}
        self._changed[name] = now + CHANGES_ARRIVE_WITHIN

    def database_for(self, primary: Database) -> Database:
        """Return a database that queries the standby first, or the primary after a recent change or failure."""
        if monotonic() < max(self._away_until, self._changed.get(primary.actor.name, 0.0)):
            return primary
        return _StandbyFirst(PooledDatabase(self.pool, primary.actor, longest_read=self._longest_read), primary, self)

    def note_failure(self, error: DatabaseError) -> None:
        """Use only the primary for a while after an error."""
        self._away_until = monotonic() + REST_AFTER_FAILURE
        log.warning("The standby does not respond, so the primary serves its queries: %s", error)


class _StandbyFirst:
    """A database that sends queries to a standby, and changes to the primary."""

    def __init__(self, standby_database: Database, primary: Database, standby: Standby) -> None:
        self._standby_database = standby_database
        self._primary = primary
        self._standby = standby

    @property
    def actor(self) -> Actor:
        return self._primary.actor

    @property
    def dsn(self) -> str:
        return self._primary.dsn

    async def run(self, statement: Statement[T]) -> T:
        return await self._run_on_either(lambda database: database.run(statement))

    async def inspect(self, inspection: Inspection[T]) -> T:
        return await self._run_on_either(lambda database: database.inspect(inspection))

    async def act(self, event: AuditEvent, statement: Statement[T], before: Statement[Any] | None = None) -> T:
        return await self._primary.act(event, statement, before)

    async def note(self, event: AuditEvent, outcome: object) -> None:
        await self._primary.note(event, outcome)

    async def _run_on_either(self, question: Callable[[Database], Awaitable[T]]) -> T:
        try:
            return await question(self._standby_database)
        except DatabaseError as error:
            # The primary would return the same error, and a slow query would burden it.
            if not isinstance(error, DatabaseUnavailable) or error.sqlstate == QUERY_CANCELED:
                raise
            self._standby.note_failure(error)
        return await question(self._primary)
