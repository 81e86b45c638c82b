"""Runs the maintenance duties on one connection. Each duty is done by the process that takes it first."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import secrets
import socket
from collections.abc import Iterable
from time import monotonic

from rolecall.maintenance.clock import Reading
from rolecall.maintenance.deaths import LocalWorkers
from rolecall.maintenance.duties import DUTIES, Duty
from rolecall.maintenance.periodic import LONGEST_BACKOFF, Periodic, log_failure
from rolecall.maintenance.runs import DutySession, NotOurTurn, StoppableSession, Turn
from rolecall.model.errors import RolecallError
from rolecall.model.workers import DutyStatus
from rolecall.sql import duties as turns
from rolecall.transport.waker import SHORTEST, Backoff

log = logging.getLogger("rolecall.maintenance")
# Seconds between two checks: at most, for the process that did the last duty; and for each of the others. These
# check about twice a second together, whether they are few or twenty, so that duties continue soon if that process
# dies.
NEXT_CHECK = 1.0
SHARE, SHORTEST_REST, LONGEST_REST = 0.5, 1.0, 10.0
REST_SPREAD = 0.5
NEIGHBOURS_EVERY = 5.0


class MaintenanceRunner:
    """Runs duties until stopped. An error in one is logged and affects neither the others nor the worker."""

    def __init__(self, session: DutySession, duties: Iterable[Duty] = DUTIES) -> None:
        self._session = StoppableSession(session)
        self._by = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._tasks = asyncio.TaskGroup()
        self._duties = {duty.name: _DutyRunner(duty, self._session, self._by) for duty in duties}
        self._neighbours = LocalWorkers(self._session)
        self._reading: Reading | None = None
        self._loops = [
            Periodic("Checking for due duties", self._check, every=NEXT_CHECK, log=log),
            Periodic(
                "Checking for dead workers of this machine", self._neighbours.check, every=NEIGHBOURS_EVERY, log=log
            ),
        ]

    async def run(self) -> None:
        """Run until stopped. The first check is made at once."""
        async with self._tasks:
            for loop in self._loops:
                self._tasks.create_task(loop.run())

    def stop(self) -> None:
        """Stop every duty after its current statement. Another process continues its work."""
        for loop in self._loops:
            loop.stop()
        self._session.stop()

    async def _check(self) -> float:
        sent_at = monotonic()
        look = await self._session.run(turns.read_status(tuple(self._duties), self._by))
        # Before the duties, because a rescue would take tasks from workers that are alive.
        await self._check_clock(Reading(sent_at, monotonic(), look.server_time, look.clock_steps))
        self._neighbours.latest = look.latest_worker
        for name in look.due:
            self._duties[name].begin(self._tasks)
        return rest_after(look)

    async def _check_clock(self, reading: Reading) -> None:
        step = reading.find_step_since(self._reading) if self._reading else None
        is_applied = await self._session.run(turns.report_clock_step(step)) if step else False
        if step and is_applied:
            log.warning(
                "The clock of the database server was set %s by %.0f s: deadlines were moved, and nothing is rescued"
                " for one lease",
                "forward" if step.seconds > 0 else "back",
                abs(step.seconds),
            )
        self._reading = reading


def rest_after(look: DutyStatus) -> float:
    """Return the seconds until the next check: a random time, unless this process did the last duty."""
    if look.due or look.did_last:
        return NEXT_CHECK if look.next_in is None else min(NEXT_CHECK, max(SHORTEST, look.next_in))
    rest = min(LONGEST_REST, max(SHORTEST_REST, look.workers * SHARE))
    return rest * random.uniform(1 - REST_SPREAD, 1 + REST_SPREAD)


class _DutyRunner:
    """A duty in this process: one run at a time, with a growing delay after errors."""

    def __init__(self, duty: Duty, session: StoppableSession, by: str) -> None:
        self._duty = duty
        self._session = session
        self._by = by
        self._backoff = Backoff(min(1.0, duty.every), max(LONGEST_BACKOFF, duty.every))
        self._not_before = 0.0
        self._run: asyncio.Task[None] | None = None

    def begin(self, tasks: asyncio.TaskGroup) -> None:
        """Start a run, unless one is running or the delay after an error has not passed."""
        if (self._run is None or self._run.done()) and monotonic() >= self._not_before:
            self._run = tasks.create_task(self._do())

    async def _do(self) -> None:
        turn = Turn(self._session, self._duty.name, self._duty.every, self._by)
        try:
            summary = await self._duty.run_once(turn)
        except NotOurTurn:
            return
        except Exception as error:  # noqa: BLE001 - a duty may fail in any way and must be tried again
            self._not_before = monotonic() + self._backoff.next()
            if not self._session.is_stopped:
                log_failure(log, self._duty.name.capitalize(), error)
                await self._record(str(error) or type(error).__name__)
            return
        self._backoff.reset()
        if turn.is_taken:
            await self._record()
        if summary:
            log.info(summary)

    async def _record(self, error: str | None = None) -> None:
        # If the database does not answer now, a later run is recorded.
        with contextlib.suppress(RolecallError):
            await self._session.run(turns.record(self._duty.name, self._duty.every, self._by, error))
