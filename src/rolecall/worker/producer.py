"""Keeps the slots in work: measures demand, claims, and waits for room or for work.

    demand > 0 ──▶ claim ──▶ all that was asked for: there is more, go on
       ▲             │
       │             ├─────▶ fewer, as the next one is for a free slot only: wait for one
       │             ├─────▶ fewer: the pool is dry for now
       │             │           marked idle already: wait, whatever comes from now on notifies
       │             └─────▶ nothing: mark idle, claim once more, then wait (rolecall.wake)
       │
    no demand ──▶ wait until a slot is free, or the prefetched line is half empty
    the brake is on (an order, or the worker uses too much) ──▶ wait until it moves, or nothing runs any more
    woken (the notification names it), and no room for a tenth of a second ──▶ wake others

A worker takes its idle mark back only when claims come back full, or its slots stay busy: a trickle of
tasks is handled under the mark, so that light load costs no write but its own.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic

from rolecall.model.errors import RolecallError
from rolecall.wake.backoff import Backoff
from rolecall.wake.pace import Pace
from rolecall.wake.waker import Waker
from rolecall.worker.board import NO_CALL, Board
from rolecall.worker.brake import Brake
from rolecall.worker.claims import Claims
from rolecall.worker.delivery import Delivery
from rolecall.worker.demand import Demand
from rolecall.worker.slots import Slot

BUSY_AFTER = 0.1

log = logging.getLogger("rolecall.worker")


class Producer:
    """Claims the next batch while the current one runs. `work` is nudged by whatever may have made a claim
    worthwhile.
    """

    def __init__(
        self,
        claims: Claims,
        delivery: Delivery,
        slots: Sequence[Slot],
        *,
        board: Board,
        demand: Demand,
        pace: Pace,
    ) -> None:
        self.work = Waker()
        self._claims = claims
        self._delivery = delivery
        self._slots = slots
        self._board = board
        self._demand = demand
        self._pace = pace
        self.brake = Brake(self._reconsider)
        self._backoff = Backoff(0.1, 10.0)
        self._full_claims = 0
        self._chosen = False
        self._closing = False

    def choose(self) -> None:
        """Note that this worker is among the few that were woken for a task: if it has no room, others must be."""
        self.work.nudge()
        if not self._chosen:
            self._chosen = True
            self._board.room.nudge()

    def close(self) -> None:
        """Claim no more; `run()` ends after the claim that is under way."""
        self._closing = True
        self._reconsider()

    async def run(self) -> None:
        """Claim and deliver until closed; what the database refuses is tried again later."""
        while not self._closing:
            try:
                await self._step()
            except RolecallError as error:
                if not self._closing:
                    log.warning("Claiming failed, trying again later: %s", error)
                    await self.work.wait(self._backoff.next())
        with suppress(RolecallError):
            await self._step_aside()

    async def _step(self) -> None:
        idle, ahead = sum(not slot.running for slot in self._slots), self._demand.prefetch()
        waiting = len(self._board.ready)
        most = self.brake.most(busy=idle < len(self._slots) or waiting > 0)
        wanted = min(idle + ahead - waiting, most)
        if not most:
            await self._stand_by()
        elif wanted > 0 and (idle > waiting or waiting <= ahead // 2):
            await self._fill(wanted, max(0, idle - waiting))
        else:
            await self._wait_for_room(ahead)

    def _reconsider(self) -> None:
        self.work.nudge()
        self._board.room.nudge()

    async def _stand_by(self) -> None:
        await self._step_aside()
        await self._board.room.wait()

    async def _step_aside(self) -> None:
        chosen, self._chosen = self._chosen, False
        if chosen:
            await self._claims.wake_others()
        else:
            await self._claims.mark_idle(idle=False)

    async def _fill(self, wanted: int, start: int) -> None:
        self.work.forget()
        self._board.room.forget()
        self._chosen = False
        asked_at = monotonic()
        claimed = await self._claims.take(wanted, start)
        self._backoff.reset()
        if claimed:
            claimed += await self._claims.take_more(claimed[:start], start)
            self._delivery.deliver(claimed, asked_at)
        await self._go_on(len(claimed), wanted, start)

    async def _go_on(self, number: int, wanted: int, start: int) -> None:
        if number:
            self._pace.found_work()
        if number >= wanted:
            await self._note_full_claim(wanted)
            return
        self._full_claims = 0
        if self._claims.held_back or not start:
            # There may be tasks that only a free slot can take.
            await self._wait_for_room(0)
        elif self._claims.marked_idle:
            await self._wait_for_work()
        elif not number:
            await self._claims.mark_idle(idle=True)

    async def _note_full_claim(self, wanted: int) -> None:
        self._full_claims += 1
        if self._full_claims > 1 or wanted > len(self._slots):
            await self._claims.mark_idle(idle=False)

    async def _wait_for_work(self) -> None:
        now = monotonic()
        due = await self._claims.next_due() if self._pace.is_slow(now) else None
        if not self._closing:
            await self.work.wait(self._pace.next_delay(now, next_due=due))

    async def _wait_for_room(self, ahead: int) -> None:
        self._board.call_at = ahead // 2 if ahead else NO_CALL
        waited_for = self._chosen or self._claims.marked_idle
        if not await self._board.room.wait(BUSY_AFTER if waited_for else None):
            await self._step_aside()
