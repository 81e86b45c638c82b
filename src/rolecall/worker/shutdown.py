"""Stops a worker in steps, so that no task is lost and none has to wait for its lease to expire."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress

from rolecall.model.errors import RolecallError
from rolecall.model.states import LostReason
from rolecall.worker.wiring import SLOT, Wiring

log = logging.getLogger("rolecall.worker")

ABORT_WITHIN = 1.0
FINISH_WITHIN = 15.0
FINISH_NOW_WITHIN = 2.0
AFTERWARDS_WITHIN = 5.0
LEAVE_WITHIN = 5.0
LOGS_WITHIN = 3.0


class Shutdown:
    """Runs once, when a worker stops. Setting `now` at any time ends the grace period."""

    def __init__(
        self, wiring: Wiring, working: Mapping[str, asyncio.Task[None]], now: asyncio.Event, *, grace: float
    ) -> None:
        self._wiring = wiring
        self._working = working
        self._now = now
        self._grace = grace
        self._slots = {task for name, task in working.items() if name.startswith(SLOT)}

    async def run(self) -> None:
        await self._claim_no_more()
        self._wiring.delivery.take_back_all()
        await self._let_handlers_finish()
        await self._abort_handlers()
        await self._finish()
        await self._leave()

    async def _claim_no_more(self) -> None:
        self._wiring.local_queue.close()
        self._wiring.producer.close()
        self._wiring.claim_session.give_up()
        await asyncio.wait({self._working["producer"]})
        self._wiring.delivery.stop()

    async def _let_handlers_finish(self) -> None:
        running = {task for task in self._slots if not task.done()}
        if not running:
            return
        log.info("Waiting up to %g s for running tasks", self._grace)
        hurry, ended = asyncio.create_task(self._now.wait()), asyncio.create_task(asyncio.wait(running))
        await asyncio.wait({hurry, ended}, timeout=self._grace, return_when=asyncio.FIRST_COMPLETED)
        hurry.cancel()
        ended.cancel()

    async def _abort_handlers(self) -> None:
        for slot in self._wiring.slots:
            for held in slot.running_tasks:
                self._wiring.aborter.abort(held, LostReason.SHUTDOWN)
        running = {task for task in self._slots if not task.done()}
        if running:
            await asyncio.wait(running, timeout=ABORT_WITHIN)
        for slot in self._wiring.slots:
            for held in slot.running_tasks:
                self._wiring.outcomes.report_abort(held)

    async def _finish(self) -> None:
        wiring, completer_task = self._wiring, self._working["completer"]
        wiring.completer.close()
        await asyncio.wait({completer_task}, timeout=self._unless_now(FINISH_WITHIN))
        await wiring.afterwards.settle(self._unless_now(AFTERWARDS_WITHIN))
        wiring.finish_session.give_up()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._unless_now(LOGS_WITHIN)):
                await wiring.task_logs.write()
        if not completer_task.done():
            await asyncio.wait({completer_task}, timeout=FINISH_NOW_WITHIN)
        if wiring.completer.unwritten_count:
            log.warning("%d outcomes could not be stored; their leases will run out", wiring.completer.unwritten_count)

    async def _leave(self) -> None:
        wiring = self._wiring
        wiring.maintenance.stop()
        wiring.summary.stop()
        wiring.procedure_check.stop()
        await wiring.log_reporter.summarize()
        await wiring.heartbeat.stop()
        try:
            async with asyncio.timeout(self._unless_now(LEAVE_WITHIN)):
                await wiring.registration.deregister(wiring.finish_session)
        except (RolecallError, TimeoutError) as error:
            log.warning("This worker could not deregister: %s", error)
        for task in self._working.values():
            task.cancel()
        await asyncio.wait(self._working.values(), timeout=ABORT_WITHIN)
        await wiring.close()

    def _unless_now(self, within: float) -> float:
        return FINISH_NOW_WITHIN if self._now.is_set() else within
