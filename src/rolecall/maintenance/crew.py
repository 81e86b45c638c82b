"""The standing duties of every worker process, each on its own rhythm, all on one connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import TypeVar

from rolecall.maintenance import counting, fire, history, housekeeping, pauses, rescue, unparking
from rolecall.maintenance.duties import Duty, Runs
from rolecall.maintenance.periodic import Periodic
from rolecall.model.errors import DatabaseUnavailable
from rolecall.sql.statement import Statement

T = TypeVar("T")

log = logging.getLogger("rolecall.maintenance")

DUTIES = (
    Duty(name="Rescue", every=5.0, run_once=rescue.run_once),
    Duty(name="Firing schedules", every=1.0, run_once=fire.run_once),
    Duty(name="Ending pauses", every=1.0, run_once=pauses.run_once),
    Duty(name="Counting", every=10.0, run_once=counting.run_once),
    Duty(name="History", every=10.0, run_once=history.run_once),
    Duty(name="Unparking", every=60.0, run_once=unparking.run_once),
    Duty(name="Housekeeping", every=60.0, run_once=housekeeping.run_once),
)


class Crew:
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
