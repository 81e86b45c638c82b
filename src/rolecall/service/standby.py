"""Answers from a standby, which may be a moment behind: who has just changed something asks the primary for a while.

GET /api/tasks ──► the standby ──► away, or it ended the query ──► the primary
everything else, and who changed something within the last ten seconds ──► the primary
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any, TypeVar

from psycopg_pool import AsyncConnectionPool

from rolecall.model.audit import Actor, AuditEvent
from rolecall.model.errors import DatabaseError, DatabaseUnavailable
from rolecall.service.database import QUERY_CANCELED, Database, Look, Pooled
from rolecall.sql.statement import Statement

__all__ = ["Standby"]

T = TypeVar("T")

# Seconds: longer than a standby lags, as long as nothing is wrong with it.
CHANGES_ARRIVE_WITHIN = 10.0
REST_AFTER_FAILURE = 30.0

log = logging.getLogger("rolecall.web")


class Standby:
    """A pool of connections to a standby, for what only asks; `longest_read` is in seconds."""

    def __init__(self, pool: AsyncConnectionPool[Any], longest_read: float | None = None) -> None:
        self.pool = pool
        self._longest_read = longest_read
        self._changed: dict[str, float] = {}
        self._away_until = 0.0

    def note_change(self, name: str) -> None:
        """Somebody changes something now, and is to see it."""
        now = monotonic()
        self._changed = {who: until for who, until in self._changed.items() if until > now}
        self._changed[name] = now + CHANGES_ARRIVE_WITHIN

    def before(self, primary: Database) -> Database:
        """Return what asks the standby first, or the primary for whoever must not be shown what was before."""
        if monotonic() < max(self._away_until, self._changed.get(primary.actor.name, 0.0)):
            return primary
        return _StandbyFirst(Pooled(self.pool, primary.actor, longest_read=self._longest_read), primary, self)

    def failed(self, error: DatabaseError) -> None:
        """It did not answer: nobody asks it for a while."""
        self._away_until = monotonic() + REST_AFTER_FAILURE
        log.warning("The standby does not answer, the primary does: %s", error)


class _StandbyFirst:
    """A database whose questions go to a standby, and its changes to the primary."""

    def __init__(self, copy: Database, primary: Database, standby: Standby) -> None:
        self._copy = copy
        self._primary = primary
        self._standby = standby

    @property
    def actor(self) -> Actor:
        return self._primary.actor

    @property
    def dsn(self) -> str:
        return self._primary.dsn

    async def run(self, statement: Statement[T]) -> T:
        return await self._ask(lambda database: database.run(statement))

    async def look(self, look: Look[T]) -> T:
        return await self._ask(lambda database: database.look(look))

    async def act(self, event: AuditEvent, statement: Statement[T], was: Statement[Any] | None = None) -> T:
        return await self._primary.act(event, statement, was)

    async def note(self, event: AuditEvent, outcome: object) -> None:
        await self._primary.note(event, outcome)

    async def _ask(self, question: Callable[[Database], Awaitable[T]]) -> T:
        try:
            return await question(self._copy)
        except DatabaseError as error:
            # The primary would give the same answer; and a question that takes too long would burden it.
            if not isinstance(error, DatabaseUnavailable) or error.sqlstate == QUERY_CANCELED:
                raise
            self._standby.failed(error)
        return await question(self._primary)
