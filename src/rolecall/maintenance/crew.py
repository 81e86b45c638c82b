"""The standing duties of every worker process, each on its own rhythm, all on one connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from rolecall.maintenance import counting, fire, history, housekeeping, pauses, rescue
from rolecall.maintenance.duties import Duty, Runs
from rolecall.maintenance.periodic import Periodic

log = logging.getLogger("rolecall.maintenance")

DUTIES = (
    Duty(name="Rescue", every=5.0, run_once=rescue.run_once),
    Duty(name="Firing schedules", every=1.0, run_once=fire.run_once),
    Duty(name="Ending pauses", every=1.0, run_once=pauses.run_once),
    Duty(name="Counting", every=10.0, run_once=counting.run_once),
    Duty(name="History", every=10.0, run_once=history.run_once),
    Duty(name="Housekeeping", every=3600.0, run_once=housekeeping.run_once),
)


class Crew:
    """Runs duties until stopped; an error in one is logged and harms neither the others nor the worker."""

    def __init__(self, session: Runs, duties: Iterable[Duty] = DUTIES) -> None:
        self._loops = [_loop(duty, session) for duty in duties]

    async def run(self) -> None:
        """Begin every duty at once; return when all have stopped."""
        await asyncio.gather(*(loop.run() for loop in self._loops))

    def stop(self) -> None:
        """End every duty after its current run."""
        for loop in self._loops:
            loop.stop()


def _loop(duty: Duty, session: Runs) -> Periodic:
    async def once() -> None:
        summary = await duty.run_once(session)
        if summary:
            log.info(summary)

    return Periodic(duty.name, once, every=duty.every, log=log)
