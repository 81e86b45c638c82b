"""What duties ask of whoever lends them a connection."""

from __future__ import annotations

from typing import Protocol, TypeVar

from rolecall.model.errors import DatabaseUnavailable
from rolecall.sql import duties
from rolecall.sql.events import EventCollector
from rolecall.sql.statement import Statement
from rolecall.telemetry import Emits

T = TypeVar("T")


class Runs(Protocol):
    """Whatever runs a statement and returns its answer."""

    async def run(self, statement: Statement[T]) -> T:
        """Run it; whether an unreachable database raises is for the implementation to say."""


class Collects(Protocol):
    """Whatever also collects what follows from a statement."""

    async def run(self, statement: Statement[T], collector: EventCollector | None = None) -> T:
        """Run it and have that collected."""


class Telling:
    """Runs statements, and tells of what they bring about whoever wants to hear of it."""

    def __init__(self, session: Collects, emitter: Emits) -> None:
        self._session = session
        self._emitter = emitter

    async def run(self, statement: Statement[T]) -> T:
        """Run it as the session does."""
        collector = EventCollector() if self._emitter.wanted & statement.tells else None
        answer = await self._session.run(statement, collector)
        if collector is not None:
            self._emitter.emit(collector.told)
        return answer


class UntilStopped:
    """A session that begins no statement any more once it is stopped: a run may have a great many."""

    def __init__(self, session: Runs) -> None:
        self._session = session
        self.stopped = False

    def stop(self) -> None:
        self.stopped = True

    async def run(self, statement: Statement[T]) -> T:
        """Run it. Raises DatabaseUnavailable once stopped."""
        if self.stopped:
            raise DatabaseUnavailable("this process ends, and does no more of it")
        return await self._session.run(statement)


class NotOurTurn(Exception):
    """Another process does it."""


class Turn:
    """A session for one run of a duty: its first statement takes the turn, both as one."""

    def __init__(self, session: Runs, name: str, every: float, by: str) -> None:
        self._session = session
        self._duty = name, every, by
        self.taken = False

    async def run(self, statement: Statement[T]) -> T:
        """Run it. Raises NotOurTurn, once, where another process was first."""
        if self.taken:
            return await self._session.run(statement)
        begun = await self._session.run(duties.begin(statement, *self._duty))
        if begun is None:
            raise NotOurTurn
        self.taken = True
        return begun[0]
