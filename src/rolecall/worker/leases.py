"""Renews the leases of held tasks, finds tasks that must stop, and aborts their handlers."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Iterable, Sequence
from time import monotonic

from rolecall.model.errors import RolecallError
from rolecall.model.states import LostReason
from rolecall.sql import claims
from rolecall.transport.waker import Backoff, Waker
from rolecall.worker.events import WorkerEvents
from rolecall.worker.in_flight import HeldTask, InFlight
from rolecall.worker.local_queue import LocalQueue
from rolecall.worker.outcomes import Outcomes
from rolecall.worker.session import DatabaseSession

MOST_RENEWALS = 1_000
SLACK = 0.02
LONGEST_NAP = 60.0
BUSY = "busy"
AGAIN_AFTER = 1.0
LostTask = tuple[HeldTask, LostReason]

log = logging.getLogger("rolecall.worker")


class LeaseKeeper:
    """Renews all due leases in one statement, when a quarter of a lease has passed since its last renewal.

    Runs in the heartbeat thread, so leases are renewed while a handler blocks the worker's loop. `renew_all_now` can
    be called from any thread; `on_lost` is called in the heartbeat thread. Deadlines are enforced without the
    database.

    While the database does not answer, a worker with `stop_when_cut_off` aborts handlers `grace` seconds before
    another worker may start their tasks (`HeldTask.stop_at`). Every worker aborts handlers whose start is not
    recorded yet. Other handlers continue and learn of a loss from the next answer.
    """

    def __init__(
        self,
        in_flight: InFlight,
        session: DatabaseSession,
        on_lost: Callable[[list[LostTask]], None],
        events: WorkerEvents,
        *,
        stop_when_cut_off: bool = False,
        grace: float = 0.0,
    ) -> None:
        self._in_flight = in_flight
        in_flight.wake_keeper = self._nudge
        self._session = session
        self._on_lost = on_lost
        self._events = events
        self._stop_when_cut_off = stop_when_cut_off
        self._grace = grace
        self._renewal: asyncio.Task[None] | None = None
        self._reported_tasks: set[HeldTask] = set()
        self._waker = Waker()
        self._backoff = Backoff(0.1, 5.0)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closing = False

    def renew_all_now(self) -> None:
        """Renew all leases at once, because a held task may have been cancelled."""
        self._in_flight.notified_at = monotonic()
        self._in_flight.renews_all = True
        self._nudge()

    def close(self) -> None:
        self._is_closing = True
        self._nudge()

    async def run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waker.nudge()  # for calls made before the loop started
        while not self._is_closing:
            await self._waker.wait(self._until_next())
            self._report_overdue()
            due = [] if self._renewal or self._is_closing else self._take_due()
            if due:
                self._renewal = asyncio.create_task(self._renew_each(due))
                self._renewal.add_done_callback(self._on_renewal_done)
        if self._renewal:
            await self._renewal
        # A listener may call later, when the loop is already closed.
        self._loop = None

    def _on_renewal_done(self, _renewal: asyncio.Task[None]) -> None:
        self._renewal = None
        self._waker.nudge()

    def _nudge(self) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._waker.nudge)

    def _until_next(self) -> float:
        # A task that is taken from here on must not wait for a moment that was computed without it.
        self._in_flight.next_look_at = math.inf
        # During a renewal only the end of a deadline or lease matters.
        moments = (
            self._stops_at(held) if self._renewal or held.is_safe else min(held.renew_at, self._stops_at(held))
            for held in self._watched_tasks()
        )
        self._in_flight.next_look_at = next_look_at = min(moments, default=math.inf)
        return max(0.0, min(next_look_at - monotonic(), LONGEST_NAP))

    def _report_overdue(self) -> None:
        now = monotonic()
        overdue = [held for held in self._watched_tasks() if self._stops_at(held) <= now]
        if overdue:
            self._reported_tasks = {*self._reported_tasks.intersection(self._in_flight.all()), *overdue}
            lost = [(held, _why_overdue(held, now)) for held in overdue]
            self._on_lost(lost)
            self._events.emit_renewals((), [held for held, reason in lost if reason is LostReason.DATABASE])

    def _stops_at(self, held: HeldTask) -> float:
        deadline = math.inf if held.deadline is None or held.is_safe else held.deadline
        if self._stop_when_cut_off or not held.is_started:
            return min(deadline, held.stop_at(self._grace))
        return deadline

    def _take_due(self) -> list[HeldTask]:
        before = monotonic() + SLACK
        everything, self._in_flight.renews_all = self._in_flight.renews_all, False
        return [held for held in self._watched_tasks() if not held.is_safe and (everything or held.renew_at <= before)]

    async def _renew_each(self, due: Iterable[HeldTask]) -> None:
        try:
            for worker_id, portion in _portions(due):
                await self._renew(worker_id, portion)
        except Exception as error:
            if not self._is_closing:
                expected = isinstance(error, RolecallError)
                log.warning("Leases could not be renewed: %s", error, exc_info=None if expected else error)
                await asyncio.sleep(self._backoff.next())
        else:
            self._backoff.reset()

    async def _renew(self, worker_id: int, portion: Sequence[HeldTask]) -> None:
        sent_at = monotonic()
        reasons = await self._session.run(
            claims.renew(worker_id, [(held.task.id, held.task.fence) for held in portion])
        )
        now = monotonic()
        postponed = {held for held in portion if _is_postponed(held, reasons.get(held.task.id), now)}
        answered = [held for held in portion if held not in postponed]
        for held in postponed:
            held.renew_at = now + AGAIN_AFTER
        expired = [held for held in answered if held.lease_ran_out(now)]
        for held in answered:
            held.plan_renewal(sent_at)
        self._events.emit_renewals([held for held in answered if held.task.id not in reasons], expired)
        lost = [(held, LostReason(reasons[held.task.id])) for held in answered if held.task.id in reasons]
        if lost:
            self._on_lost(lost)

    def _watched_tasks(self) -> Iterable[HeldTask]:
        return (
            held
            for held in self._in_flight.all()
            if held.abort_reason is None and not held.is_committed and held not in self._reported_tasks
        )


def _is_postponed(held: HeldTask, reason: str | None, now: float) -> bool:
    """Whether the lease was not renewed, and must be renewed again soon.

    Another transaction has locked the row; or the deadline has passed for the database only. Its clock was set, and
    `MaintenanceRunner` will move the deadline.
    """
    return reason == BUSY or (reason == LostReason.TIMEOUT and held.deadline is not None and now < held.deadline)


def _why_overdue(held: HeldTask, now: float) -> LostReason:
    is_late = held.deadline is not None and held.deadline <= now and not held.is_safe
    return LostReason.TIMEOUT if is_late else LostReason.DATABASE


def _portions(due: Iterable[HeldTask]) -> Iterable[tuple[int, list[HeldTask]]]:
    by_worker: dict[int, list[HeldTask]] = {}
    for held in due:
        by_worker.setdefault(held.worker_id, []).append(held)
    for worker_id, group in by_worker.items():
        for first in range(0, len(group), MOST_RENEWALS):
            yield worker_id, group[first : first + MOST_RENEWALS]


class Aborter:
    """Aborts handlers. After `grace` seconds, the task is reported without waiting for its handler."""

    def __init__(self, local_queue: LocalQueue, outcomes: Outcomes, *, grace: float) -> None:
        self._queue = local_queue
        self._outcomes = outcomes
        self._grace = grace

    def abort_each(self, lost_tasks: Iterable[LostTask]) -> None:
        for held, reason in lost_tasks:
            self.abort(held, reason)

    def abort(self, held: HeldTask, reason: LostReason) -> None:
        if held.has_ended or held.abort_reason is not None:
            return
        if reason is LostReason.COMPLETED and (held.is_safe or held.unseen_completion):
            # The handler completed its task in its own transaction and may continue.
            return
        held.abort_reason = reason
        log.info("Task %d (%s) must stop: %s", held.task.id, held.task.handler, reason)
        if self._queue.withdraw(held) or held.slot is None:
            self._outcomes.report_abort(held)
            return
        held.slot.interrupt()
        asyncio.get_running_loop().call_later(self._grace, self._overdue, held)

    def _overdue(self, held: HeldTask) -> None:
        if held.slot is None or held not in held.slot.running_tasks:
            return
        if not held.has_ended:
            log.warning(
                "The handler of task %d (%s) did not stop within %g s; its slot stays occupied until it does",
                held.task.id,
                held.task.handler,
                self._grace,
            )
            self._outcomes.report_abort(held)
        # A handler may have suppressed the cancellation: repeat it until the handler ends.
        held.slot.interrupt()
        asyncio.get_running_loop().call_later(self._grace, self._overdue, held)
