"""The queue between claims and slots, and the limits on claiming tasks in advance."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice
from time import monotonic

from rolecall.transport.waker import Waker
from rolecall.worker.in_flight import HeldTask
from rolecall.worker.places import Sequences

NO_CALL = -1
HORIZON = 0.15
SPAN = 0.25
GROWTH = 2
NO_LIMIT = 1_000_000

log = logging.getLogger("rolecall.worker")


class LocalQueue:
    """Held tasks that have not started, in claim order.

    Of each sequence (tasks that share a permit), only the next task is in `ready`; the others wait in `sequences`.
    Slots take from the left. The producer is woken when the queue is as short as `call_at` or a slot finds it
    empty. Tasks that may not start any more are passed to `give_back`. The heartbeat thread takes tasks while the
    worker's loop is blocked.
    """

    def __init__(self, give_back: Callable[[list[HeldTask]], None]) -> None:
        self._give_back = give_back
        self.ready: deque[HeldTask] = deque()
        self.sequences = Sequences()
        self._lock = threading.Lock()
        self.room = Waker()
        self.call_at = NO_CALL
        self.is_closed = False
        self._idle_futures: deque[asyncio.Future[None]] = deque()

    @property
    def free_slots(self) -> int:
        return len(self._idle_futures)

    @property
    def waiting_count(self) -> int:
        return len(self.ready) + self.sequences.waiting_count

    def take(self) -> HeldTask | None:
        """Take the next task that may start, and wake the producer if few are left.

        Tasks before it that may not start any more are given back.
        """
        now, late, next_one = monotonic(), [], None
        with self._lock:
            while self.ready and next_one is None:
                held = self.ready.popleft()
                if now < held.start_before:
                    next_one = held
                else:
                    late.append(held)
        if late:
            self._give_back_late(late)
        if next_one is not None and self.waiting_count <= self.call_at:
            self.call_producer()
        return next_one

    def put(self, held_tasks: Iterable[HeldTask]) -> None:
        with self._lock:
            self.ready.extend(
                held for held in held_tasks if held.permit is None or self.sequences.admit(held, held.permit)
            )
        self._wake(len(self.ready))

    def let_next(self, held: HeldTask) -> None:
        """Make the next task of a finished task's sequence ready, before tasks that were claimed later.

        If the finished task waits for its children or was given back, the rest of the sequence is given back as
        well.
        """
        others: list[HeldTask] = []
        with self._lock:
            if held.ends_sequence:
                others = self.sequences.close(held)
            elif (next_one := self.sequences.leave(held)) is not None:
                self.ready.appendleft(next_one)
        if others:
            self._give_back(others)

    def withdraw(self, held: HeldTask) -> bool:
        """Remove a task that has not started; return False if it is not in the queue."""
        with self._lock:
            try:
                self.ready.remove(held)
            except ValueError:
                return held.began_at == 0 and self.sequences.withdraw(held)
            if (next_one := self.sequences.leave(held)) is not None:
                self.ready.appendleft(next_one)
        return True

    def take_like(self, held: HeldTask, most: int) -> list[HeldTask]:
        with self._lock:
            alike = list(islice((other for other in self.ready if other.runner is held.runner), most))
            if len(alike) == len(self.ready):
                self.ready.clear()
            elif alike:
                taken = set(alike)
                rest = [other for other in self.ready if other not in taken]
                self.ready.clear()
                self.ready.extend(rest)
        if self.waiting_count <= self.call_at:
            self.call_producer()
        now = monotonic()
        if late := [other for other in alike if now >= other.start_before]:
            self._give_back_late(late)
        return [other for other in alike if other not in late]

    def take_older(self, before: float) -> list[HeldTask]:
        """Remove and return the tasks that were delivered at or before the given time."""
        older = []
        with self._lock:
            while self.ready and self.ready[0].delivered_at <= before:
                held = self.ready.popleft()
                older += [held, *self.sequences.close(held)]
            behind = self.sequences.take_late(before)
        self.sequences.adapt_length(late=bool(behind))
        return older + behind

    def clear(self) -> list[HeldTask]:
        with self._lock:
            waiting_tasks = [*self.ready, *self.sequences.take_all()]
            for held in self.ready:
                self.sequences.leave(held)
            self.ready.clear()
        return waiting_tasks

    def close(self) -> None:
        self.is_closed = True
        self._wake(len(self._idle_futures))

    def call_producer(self) -> None:
        self.call_at = NO_CALL
        self.room.nudge()

    async def wait_for_work(self) -> None:
        waiting = asyncio.get_running_loop().create_future()
        self._idle_futures.append(waiting)
        self.call_producer()
        try:
            await waiting
        finally:
            if waiting in self._idle_futures:
                self._idle_futures.remove(waiting)

    def _give_back_late(self, late: list[HeldTask]) -> None:
        # The tasks expired, the process was frozen, or the answer to the claim was late. Another worker may have them.
        with self._lock:
            late += [other for held in late for other in self.sequences.close(held)]
        log.warning(
            "%d tasks are returned before their start: they were claimed too long ago, or have expired", len(late)
        )
        self._give_back(late)

    def _wake(self, slots: int) -> None:
        while slots and self._idle_futures:
            waiting = self._idle_futures.popleft()
            if not waiting.done():
                waiting.set_result(None)
                slots -= 1


class Demand:
    """Measures the worker's throughput to decide how many tasks to claim in advance.

    Counts the time in which any slot had work, whatever it was spent on, over the last 0.25 to 0.5 s. At most 0.15 s
    worth of tasks, and at most twice the tasks that finished in that time, may wait for a slot. Nothing is claimed in
    advance before the first task has finished, or for slow handlers: a task that waits behind a busy slot could run
    on another worker.
    """

    __slots__ = (
        "_cap",
        "_clock",
        "_idle_seconds",
        "_idle_since",
        "_idle_slots",
        "_previous_span",
        "_since",
        "_slots",
        "finished_count",
    )

    def __init__(self, cap: int, slots: int, clock: Callable[[], float] = monotonic) -> None:
        self._cap = cap
        self._slots = slots
        self._clock = clock
        self._previous_span = (0, 0.0)
        self.finished_count = 0  # in the current span
        self._since = self._idle_since = clock()
        self._idle_seconds = 0.0
        self._idle_slots = slots

    def change_idle_slots(self, change: int) -> None:
        """Note that a slot starts to wait for work (1) or has work (-1)."""
        if self._idle_slots == self._slots:
            self._idle_seconds += self._clock() - self._idle_since
        self._idle_slots += change
        if self._idle_slots == self._slots:
            self._idle_since = self._clock()

    def prefetch(self) -> int:
        now = self._clock()
        idle = now - self._idle_since if self._idle_slots == self._slots else 0.0
        busy = now - self._since - self._idle_seconds - idle
        done_before, busy_before = self._previous_span
        done, seconds = done_before + self.finished_count, busy_before + busy
        if busy >= SPAN:
            self._begin_span(busy)
        if seconds <= 0:
            return min(GROWTH * done, self._cap)
        return min(int(HORIZON * done / seconds), GROWTH * done, self._cap)

    def _begin_span(self, busy: float) -> None:
        self._previous_span = (self.finished_count, busy)
        self.finished_count = 0
        self._since = self._clock()
        self._idle_seconds = 0.0
        if self._idle_slots == self._slots:
            self._idle_since = self._since


class ClaimLimit:
    """Limits how many tasks may be claimed now. `on_change` is called with every change.

    A worker that backs off still runs one task at a time. Otherwise its tasks would wait forever on a machine that
    other programs keep busy.
    """

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._is_drained = False
        self._is_backing_off = False
        # How many tasks may be claimed now: while the worker runs none, and while it runs some.
        self.when_idle = self.when_busy = NO_LIMIT

    def drain(self, *, on: bool) -> None:
        self._is_drained = on
        self._change()

    def back_off(self, *, on: bool) -> None:
        self._is_backing_off = on
        self._change()

    def _change(self) -> None:
        self.when_busy = 0 if self._is_drained or self._is_backing_off else NO_LIMIT
        self.when_idle = 1 if self._is_backing_off and not self._is_drained else self.when_busy
        self._on_change()
