"""Runs the standing duties of a process, each on its own rhythm, all on one connection."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from rolecall.maintenance.duties import DUTIES, Duty
from rolecall.maintenance.runs import Runs
from rolecall.model.errors import DatabaseUnavailable, RolecallError
from rolecall.sql.statement import Statement
from rolecall.wake.waker import Backoff, Waker

T = TypeVar("T")
log = logging.getLogger("rolecall.maintenance")
SPREAD = 0.1
LONGEST_BACKOFF = 60.0


class MaintenanceRunner:
    """Runs duties until stopped; an error in one is logged and harms neither the others nor the worker."""

    def __init__(self, session: Runs, duties: Iterable[Duty] = DUTIES) -> None:
        self._session = _UntilStopped(session)
        self._loops = [_loop(duty, self._session) for duty in duties]

    async def run(self) -> None:
        """Begin every duty at once; return when all have stopped."""
        await asyncio.gather(*(loop.run() for loop in self._loops))

    def stop(self) -> None:
        """End every duty after its current statement: what is left of its run is the next one's, somewhere else."""
        for loop in self._loops:
            loop.stop()
        self._session.stop()


class _UntilStopped:
    """A session that begins no statement any more once it is stopped: a run may have a great many."""

    def __init__(self, session: Runs) -> None:
        self._session = session
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True

    async def run(self, statement: Statement[T]) -> T:
        if self._stopped:
            raise DatabaseUnavailable("this process ends, and does no more of it")
        return await self._session.run(statement)


def _loop(duty: Duty, session: Runs) -> Periodic:
    async def once() -> None:
        summary = await duty.run_once(session)
        if summary:
            log.info(summary)

    return Periodic(duty.name, once, every=duty.every, log=log)


class Periodic:
    """Calls `once` every `every` seconds, give or take a tenth, until `stop()`; `nudge()` brings the next
    call forward.

    An error is logged and never ends the loop: the next call comes after a growing delay.
    """

    def __init__(self, name: str, once: Callable[[], Awaitable[None]], *, every: float, log: logging.Logger) -> None:
        self._name = name
        self._once = once
        self._every = every
        self._log = log
        self._waker = Waker()
        self._backoff = Backoff(min(1.0, every), max(LONGEST_BACKOFF, every))
        self._stopping = False

    def stop(self) -> None:
        """End the loop after the call that is under way."""
        self._stopping = True
        self._waker.nudge()

    def nudge(self) -> None:
        """Call `once` now instead of at its time."""
        self._waker.nudge()

    async def run(self) -> None:
        """Run the loop: the first call comes at once."""
        while not self._stopping:
            delay = await self._attempt()
            if not self._stopping:
                await self._waker.wait(delay)

    async def _attempt(self) -> float:
        try:
            await self._once()
        except Exception as error:  # noqa: BLE001 - a duty may fail in any way and must be tried again
            if not self._stopping:
                self._complain(error)
            return self._backoff.next()
        self._backoff.reset()
        return self._every * random.uniform(1 - SPREAD, 1 + SPREAD)

    def _complain(self, error: Exception) -> None:
        # An error of our own says what happened; any other one is a bug and needs its traceback.
        expected = isinstance(error, RolecallError)
        self._log.warning("%s failed: %s", self._name, error, exc_info=None if expected else error)
