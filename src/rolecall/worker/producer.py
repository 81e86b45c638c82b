"""Claims tasks for the slots, and waits for free slots or for work.

    demand > 0 ──▶ claim ──▶ as many as requested: there may be more, claim again
       ▲             │
       │             ├─────▶ fewer, and the next task needs a free slot: wait for one
       │             ├─────▶ fewer, and marked idle: wait for a notification or the next poll
       │             └─────▶ none: mark idle, claim once more, then wait (rolecall.transport)
       │
    no demand ──▶ wait until a slot is free or the local queue is half empty
    claim limit is 0 (a command or a back-off) ──▶ wait until it changes, or until no task runs
    woken, but no free slot for 0.1 s ──▶ wake others

The idle mark is removed only when claims are full or slots stay busy. A trickle of tasks is processed under the mark,
so that light load costs no extra writes.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic
from typing import Protocol

from rolecall.config import failpoints
from rolecall.model.errors import RolecallError
from rolecall.model.states import LostReason
from rolecall.model.tasks import ClaimedTask
from rolecall.sql import claims
from rolecall.transport.waker import Backoff, Pace, Waker
from rolecall.worker.completer import Completer
from rolecall.worker.in_flight import HeldTask, InFlight
from rolecall.worker.leases import Aborter
from rolecall.worker.local_queue import NO_CALL, ClaimLimit, Demand, LocalQueue
from rolecall.worker.registration import Registration
from rolecall.worker.reporting import log_claims
from rolecall.worker.runners import HandlerRegistry
from rolecall.worker.session import DatabaseSession
from rolecall.worker.slot import Slot
from rolecall.worker.tracing import TraceLookup

BUSY_AFTER = 0.1
STALE_AFTER = 0.5

log = logging.getLogger("rolecall.worker")


class Producer:
    """Claims the next batch while the current one runs. Nudge `work` when a claim may be worthwhile."""

    def __init__(
        self,
        claims: TaskSource,
        delivery: Delivery,
        slots: Sequence[Slot],
        *,
        local_queue: LocalQueue,
        demand: Demand,
        pace: Pace,
    ) -> None:
        self.work = Waker()
        self._claims = claims
        self._delivery = delivery
        self._slots = slots
        self._queue = local_queue
        self._demand = demand
        self._pace = pace
        self.claim_limit = ClaimLimit(self._reconsider)
        self._backoff: Backoff | None = None  # while claims fail
        self._full_claims = 0
        self._is_chosen = False
        self._is_closing = False
        self._continues_at = math.inf

    def lateness(self) -> float:
        """Return the seconds by which it is late; negative while it waits. Can be called from any thread.

        It is also late while the database does not answer a claim.
        """
        return monotonic() - self._continues_at

    def on_wake(self, payload: str) -> None:
        """Process a notification of work: a role (or none for all), optionally with the ids of the workers to wake."""
        role, _, worker_ids = payload.partition(":")
        if worker_ids:
            if self._claims.is_among(worker_ids.split(",")):
                self._choose()
        elif not role or self._claims.serves(role):
            self.work.nudge()

    def _choose(self) -> None:
        # If this worker has no free slot, it must wake others.
        self.work.nudge()
        if not self._is_chosen:
            self._is_chosen = True
            self._queue.room.nudge()

    def close(self) -> None:
        self._is_closing = True
        self._reconsider()

    async def run(self) -> None:
        """Claim and deliver tasks until closed. Errors are logged and the claim is retried."""
        while not self._is_closing:
            self._continues_at = monotonic()
            self.work.forget()
            self._queue.room.forget()
            try:
                await self._claim_or_wait()
            except RolecallError as error:
                if not self._is_closing:
                    log.warning("Claiming failed, trying again later: %s", error)
                    self._backoff = self._backoff or Backoff(0.1, 10.0)
                    delay = self._backoff.next()
                    self._continues_at = monotonic() + delay
                    await self.work.wait(delay)
        self._continues_at = math.inf
        with suppress(RolecallError):
            await self._leave_to_others()

    async def _claim_or_wait(self) -> None:
        idle, ahead = sum(not slot.running_tasks for slot in self._slots), self._demand.prefetch()
        # Tasks behind others of their sequence need no slot yet.
        ready, behind = len(self._queue.ready), self._queue.sequences.waiting_count
        is_busy = idle < len(self._slots) or ready + behind > 0
        most = self.claim_limit.when_busy if is_busy else self.claim_limit.when_idle
        free = max(0, idle - ready)
        wanted = min(free + max(0, ahead - behind - max(0, ready - idle)), most)
        if not most:
            await self._wait_for_limit()
        elif wanted > 0 and (free or ready + behind <= ahead // 2):
            await self._fill(wanted, min(free, wanted))
        else:
            await self._wait_for_room(ahead)

    def _reconsider(self) -> None:
        self.work.nudge()
        self._queue.room.nudge()

    async def _wait_for_limit(self) -> None:
        await self._leave_to_others()
        self._continues_at = math.inf
        await self._queue.room.wait()

    async def _leave_to_others(self) -> None:
        chosen, self._is_chosen = self._is_chosen, False
        if chosen:
            await self._claims.wake_others()
        else:
            await self._claims.mark_idle(idle=False)

    async def _fill(self, wanted: int, start: int) -> None:
        self._is_chosen = False
        claimed = await self._claims.take(wanted, start, self._queue.sequences.max_length if wanted > start else 1)
        self._backoff = None
        if any(held.runner.max_tasks > 1 for held in claimed[:start]):
            claimed += await self._claims.take_more(claimed[:start], start)
        if claimed:
            self._delivery.deliver(claimed)
            self._pace.found_work()
        if len(claimed) >= wanted:
            await self._note_full_claim(wanted)
            return
        self._full_claims = 0
        if self._claims.held_back or not start:
            # There may be tasks that only a free slot can take.
            await self._wait_for_room(0)
        elif self._claims.marked_idle:
            await self._wait_for_work()
        elif not claimed:
            await self._claims.mark_idle(idle=True)

    async def _note_full_claim(self, wanted: int) -> None:
        self._full_claims += 1
        if self._full_claims > 1 or wanted > len(self._slots):
            await self._claims.mark_idle(idle=False)

    async def _wait_for_work(self) -> None:
        asks = False
        while not self._is_closing:
            now = self._continues_at = monotonic()
            asked_before, asks = asks, self._claims.polls_due_times and self._pace.is_slow(now)
            due = await self._claims.next_due() if asks else None
            if asked_before and due == 0:
                return
            delay = self._pace.next_delay(now, next_due=due)
            self._continues_at = monotonic() + delay
            if await self.work.wait(delay) or not asks or (due is not None and due <= delay):
                return

    async def _wait_for_room(self, ahead: int) -> None:
        self._queue.call_at = ahead // 2 if ahead else NO_CALL
        waited_for = self._is_chosen or self._claims.marked_idle
        self._continues_at = math.inf
        if not await self._queue.room.wait(BUSY_AFTER if waited_for else None):
            await self._leave_to_others()


class TaskSource(Protocol):
    """The source of a producer's tasks, such as `Claims`."""

    @property
    def held_back(self) -> bool: ...

    @property
    def marked_idle(self) -> bool: ...

    @property
    def polls_due_times(self) -> bool: ...

    def serves(self, role: str) -> bool: ...

    def is_among(self, worker_ids: Sequence[str]) -> bool: ...

    async def take(self, limit: int, start: int, run: int) -> list[HeldTask]: ...

    async def take_more(self, held_tasks: Sequence[HeldTask], calls: int) -> list[HeldTask]: ...

    async def next_due(self) -> float | None: ...

    async def mark_idle(self, *, idle: bool) -> None: ...

    async def wake_others(self) -> None: ...


class Claims:
    """Claims from Postgres, always on the same connection: watermarks are stored per session."""

    polls_due_times = True

    def __init__(
        self,
        session: DatabaseSession,
        registration: Registration,
        handler_registry: HandlerRegistry,
        traces: TraceLookup | None = None,
    ) -> None:
        self._session = session
        self._traces = traces
        self._registration = registration
        self._roles = registration.info.roles
        self._registry = handler_registry
        self.held_back = False  # at the last claim, the next task needed a free slot

    @property
    def marked_idle(self) -> bool:
        return self._registration.idle

    def serves(self, role: str) -> bool:
        return not self._roles or role in self._roles

    def is_among(self, worker_ids: Sequence[str]) -> bool:
        return str(self._registration.worker_id) in worker_ids

    async def take(self, limit: int, start: int, run: int) -> list[HeldTask]:
        """Claim up to `limit` tasks, best first, and up to `run` per permit; `start` slots are free for them."""
        claimed, self.held_back = await self._claim(self._registry.names, limit, start, run)
        return claimed

    async def take_more(self, held_tasks: Sequence[HeldTask], calls: int) -> list[HeldTask]:
        """Claim more tasks to fill the batches that `held_tasks` start, up to `calls` batches.

        A free slot claims one task. If it has a batch handler, the slot can take more of the same handler.
        """
        more: list[HeldTask] = []
        for runner in {held.runner for held in held_tasks if held.runner.max_tasks > 1}:
            there = sum(held.runner is runner for held in held_tasks)
            missing = runner.max_tasks * min(calls, there) - there
            if missing > 0:
                name = next(held.task.handler for held in held_tasks if held.runner is runner)
                more += (await self._claim((name,), missing, missing))[0]
        return more

    async def next_due(self) -> float | None:
        """Return the seconds until the earliest pending task is due; None if there is none."""
        return await self._session.run(claims.next_due(self._roles, self._registry.names, self._registration.worker_id))

    async def mark_idle(self, *, idle: bool) -> None:
        await self._registration.mark_idle(self._session, idle=idle)

    async def wake_others(self) -> None:
        await self._registration.wake_others(self._session)

    async def hold(self, claimed: Sequence[ClaimedTask], worker_id: int, sent_at: float) -> list[HeldTask]:
        """Create held tasks from tasks that were claimed under that worker id by a statement sent at `sent_at`."""
        if claimed and failpoints.ARMED:
            failpoints.hit(failpoints.AFTER_CLAIM)
        runners = self._registry.runners
        held_tasks = [HeldTask(task, runners[task.handler, task.step > 0], worker_id, sent_at) for task in claimed]
        if held_tasks and self._traces is not None:
            await self._traces.note(held_tasks)
        return held_tasks

    async def _claim(
        self, handlers: Sequence[str], limit: int, start: int, run: int = 1
    ) -> tuple[list[HeldTask], bool]:
        worker_id = self._registration.worker_id
        statement = claims.claim_what_fits(worker_id, self._roles, handlers, limit, start, run)
        claimed, held_back = await self._session.run(statement)
        # Leases begin with the claim and the answer may be late, so only the time before the statement is safe.
        return await self.hold(claimed, worker_id, self._session.sent_at), held_back


class Delivery:
    """Puts claimed tasks into the local queue, and gives back those that wait there for too long."""

    def __init__(
        self,
        local_queue: LocalQueue,
        in_flight: InFlight,
        *,
        completer: Completer,
        aborter: Aborter,
    ) -> None:
        self._queue = local_queue
        self._in_flight = in_flight
        self._completer = completer
        self._aborter = aborter
        self._check: asyncio.TimerHandle | None = None

    def deliver(self, held_tasks: Sequence[HeldTask]) -> None:
        """Hold tasks, in claim order, and queue them for the slots."""
        if log.isEnabledFor(logging.DEBUG):
            log_claims(held_tasks)
        now, has_followers = monotonic(), any(held.is_behind for held in held_tasks)
        for held in held_tasks:
            held.delivered_at = now
        for older in self._in_flight.take(held_tasks):
            self._aborter.abort(older, LostReason.TAKEN)
        self._queue.put(self._without_out_of_turn(held_tasks) if has_followers else held_tasks)
        if self._check is None and self._queue.waiting_count:
            self._check_later()

    def _without_out_of_turn(self, held_tasks: Sequence[HeldTask]) -> Sequence[HeldTask]:
        closed = {
            held.permit
            for held in held_tasks
            if held.is_behind and held.predecessor is not None and held.predecessor.ends_sequence
        }
        if not closed:
            return held_tasks
        self._completer.give_back(held for held in held_tasks if held.permit in closed)
        return [held for held in held_tasks if held.permit not in closed]

    def take_back_all(self) -> None:
        self._completer.give_back(self._queue.clear())

    def take_back(self, role: str) -> None:
        """Give back the tasks of a paused role that have not started."""
        waiting = self._queue.clear()
        self._queue.put(held for held in waiting if held.task.role != role)
        self._completer.give_back(held for held in waiting if held.task.role == role)

    def stop(self) -> None:
        if self._check is not None:
            self._check.cancel()

    def _check_later(self) -> None:
        self._check = asyncio.get_running_loop().call_later(STALE_AFTER, self._take_back_stale)

    def _take_back_stale(self) -> None:
        # Tasks must not wait behind a slow handler while another worker may be idle.
        self._check = None
        if stale := self._queue.take_older(monotonic() - STALE_AFTER):
            self._completer.give_back(stale)
        if self._queue.waiting_count:
            self._check_later()
