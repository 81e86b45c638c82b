"""The end of a worker, step by step: nothing is claimed, nothing is lost, nothing waits for its lease."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from time import monotonic

from rolecall.model.errors import RolecallError
from rolecall.model.states import LostReason
from rolecall.worker.wiring import SLOT, Staff

log = logging.getLogger("rolecall.worker")

ABORT_WITHIN = 1.0
SETTLE_WITHIN = 15.0
SETTLE_NOW_WITHIN = 2.0
LEAVE_WITHIN = 5.0


class Farewell:
    """Said once, when a worker stops; `now` may be set at any time to cut the grace period short."""

    def __init__(
        self, staff: Staff, working: Mapping[str, asyncio.Task[None]], now: asyncio.Event, *, grace: float
    ) -> None:
        self._staff = staff
        self._working = working
        self._now = now
        self._grace = grace
        self._slots = {task for name, task in working.items() if name.startswith(SLOT)}

    async def say(self) -> None:
        """Take the steps in order; every one is bounded in time, whatever handlers and the database do."""
        await self._claim_no_more()
        self._staff.delivery.take_back_all()
        await self._let_handlers_finish()
        await self._abort_handlers()
        await self._settle()
        await self._leave()

    async def _claim_no_more(self) -> None:
        self._staff.board.close()
        self._staff.producer.close()
        self._staff.claiming.give_up()
        await asyncio.wait({self._working["producer"]})
        self._staff.delivery.stop()

    async def _let_handlers_finish(self) -> None:
        running = {task for task in self._slots if not task.done()}
        if running:
            log.info("Waiting up to %g s for running tasks", self._grace)
        hurry = asyncio.create_task(self._now.wait())
        until = monotonic() + self._grace
        while running and not self._now.is_set() and monotonic() < until:
            left = max(0.0, until - monotonic())
            await asyncio.wait({hurry, *running}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            running = {task for task in running if not task.done()}
        hurry.cancel()

    async def _abort_handlers(self) -> None:
        for slot in self._staff.slots:
            for held in slot.running:
                self._staff.aborter.abort(held, LostReason.SHUTDOWN)
        running = {task for task in self._slots if not task.done()}
        if running:
            await asyncio.wait(running, timeout=ABORT_WITHIN)
        for slot in self._staff.slots:
            for held in slot.running:
                self._staff.outcomes.aborted(held)

    async def _settle(self) -> None:
        staff, settling = self._staff, self._working["settler"]
        staff.settler.close()
        await asyncio.wait({settling}, timeout=self._unless_now(SETTLE_WITHIN))
        staff.settling.give_up()
        if not settling.done():
            await asyncio.wait({settling}, timeout=SETTLE_NOW_WITHIN)
        if staff.settler.unsettled:
            log.warning("%d outcomes could not be stored; their leases will run out", staff.settler.unsettled)

    async def _leave(self) -> None:
        staff = self._staff
        staff.crew.stop()
        staff.summary.stop()
        staff.looking.stop()
        await staff.narrator.summarize()
        await staff.pulse.stop()
        try:
            async with asyncio.timeout(self._unless_now(LEAVE_WITHIN)):
                await staff.roll.deregister(staff.settling)
        except (RolecallError, TimeoutError) as error:
            log.warning("This worker could not leave the roll: %s", error)
        for task in self._working.values():
            task.cancel()
        await asyncio.wait(self._working.values(), timeout=ABORT_WITHIN)
        await staff.close()

    def _unless_now(self, within: float) -> float:
        return SETTLE_NOW_WITHIN if self._now.is_set() else within
