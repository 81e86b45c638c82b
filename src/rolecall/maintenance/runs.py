"""The sessions with which duties run their statements."""

from __future__ import annotations

from typing import Protocol, TypeVar

from rolecall.model.errors import DatabaseUnavailable
from rolecall.sql import duties
from rolecall.sql.events import EventCollector
from rolecall.sql.statement import Statement
from rolecall.telemetry import Emits

T = TypeVar("T")


class DutySession(Protocol):
    """Runs a statement and returns its answer."""

    async def run(self, statement: Statement[T]) -> T:
        """Run a statement. The implementation decides whether an unreachable database raises."""


class CollectingSession(Protocol):
    """Runs a statement and can collect its events."""

    async def run(self, statement: Statement[T], collector: EventCollector | None = None) -> T:
        """Run a statement and collect its events."""


class EmittingSession:
    """Runs statements and emits their events."""

    def __init__(self, session: CollectingSession, emitter: Emits) -> None:
        self._session = session
        self._emitter = emitter

    async def run(self, statement: Statement[T]) -> T:
        collector = EventCollector() if self._emitter.event_types & statement.event_kinds else None
        answer = await self._session.run(statement, collector)
        if collector is not None:
            self._emitter.emit(collector.events)
        return answer


class StoppableSession:
    """A session that runs no more statements once it is stopped, because one run of a duty may have very many."""

    def __init__(self, session: DutySession) -> None:
        self._session = session
        self.is_stopped = False

    def stop(self) -> None:
        self.is_stopped = True

    async def run(self, statement: Statement[T]) -> T:
        """Run a statement. Raises DatabaseUnavailable once stopped."""
        if self.is_stopped:
            raise DatabaseUnavailable("this process is stopping and starts no more statements")
        return await self._session.run(statement)


class NotOurTurn(Exception):
    """Another process has taken the duty."""


class Turn:
    """A session for one run of a duty. Its first statement takes the duty in the same transaction."""

    def __init__(self, session: DutySession, name: str, every: float, by: str) -> None:
        self._session = session
        self._duty = name, every, by
        self.is_taken = False

    async def run(self, statement: Statement[T]) -> T:
        """Run a statement. Raises NotOurTurn, once, if another process was first."""
        if self.is_taken:
            return await self._session.run(statement)
        begun = await self._session.run(duties.begin(statement, *self._duty))
        if begun is None:
            raise NotOurTurn
        self.is_taken = True
        return begun[0]
