"""Claimed tasks wait here for a slot, and free slots wait for tasks; and how many tasks may wait beyond the slots."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice
from time import monotonic

from rolecall.wake.waker import Waker
from rolecall.worker.in_flight import HeldTask
from rolecall.worker.places import Places

NO_CALL = -1
HORIZON = 0.15
SPAN = 0.25
GROWTH = 2
NO_LIMIT = 1_000_000

log = logging.getLogger("rolecall.worker")


class LocalQueue:
    """Claimed tasks of this worker that have not begun, in claim order; of a key's place the next one only, with
    the others behind it in `places`.

    Slots take from the left. When the queue is as short as `call_at`, or a slot finds it empty, the producer
    is called. Tasks that may not begin any more are handed to `give_back`. Tasks are taken from it by the
    worker's loop, and by the heartbeat thread while the loop is blocked.
    """

    def __init__(self, give_back: Callable[[list[HeldTask]], None]) -> None:
        self._give_back = give_back
        self.ready: deque[HeldTask] = deque()
        self.places = Places()
        self._lock = threading.Lock()
        self.room = Waker()
        self.call_at = NO_CALL
        self.closed = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def free_slots(self) -> int:
        return len(self._waiting)

    @property
    def waiting(self) -> int:
        """How many tasks have not begun."""
        return len(self.ready) + self.places.behind

    def take(self) -> HeldTask | None:
        """Take the next task that may begin; those on the way there whose time for that is over are given back."""
        now, late, next_one = monotonic(), [], None
        with self._lock:
            while self.ready and next_one is None:
                held = self.ready.popleft()
                if held.may_begin(now):
                    next_one = held
                else:
                    late.append(held)
        if late:
            self._give_back_late(late)
        return next_one

    def put(self, held_tasks: Iterable[HeldTask]) -> None:
        """Add tasks in claim order and wake as many slots as there is work for."""
        with self._lock:
            self.ready.extend(held for held in held_tasks if held.place is None or self.places.admit(held, held.place))
        self._wake(len(self.ready))

    def let_next(self, held: HeldTask) -> None:
        """Let the task behind an ended one begin, before those that were claimed later.

        All behind it are given back if it keeps its place, to wait for its children, or is given back itself.
        """
        others: list[HeldTask] = []
        with self._lock:
            if held.ends_its_line:
                others = self.places.close(held)
            elif (next_one := self.places.leave(held)) is not None:
                self.ready.appendleft(next_one)
        if others:
            self._give_back(others)

    def withdraw(self, held: HeldTask) -> bool:
        """Take back a task that has not begun; false when it is not here any more."""
        with self._lock:
            try:
                self.ready.remove(held)
            except ValueError:
                return held.began_at == 0 and self.places.withdraw(held)
            if (next_one := self.places.leave(held)) is not None:
                self.ready.appendleft(next_one)
        return True

    def take_like(self, held: HeldTask, most: int) -> list[HeldTask]:
        """Take up to `most` more tasks of the same handler, in claim order, wherever they stand."""
        with self._lock:
            alike = list(islice((other for other in self.ready if other.runner is held.runner), most))
            if len(alike) == len(self.ready):
                self.ready.clear()
            elif alike:
                taken = set(alike)
                rest = [other for other in self.ready if other not in taken]
                self.ready.clear()
                self.ready.extend(rest)
        if self.waiting <= self.call_at:
            self.call_producer()
        now = monotonic()
        if late := [other for other in alike if not other.may_begin(now)]:
            self._give_back_late(late)
        return [other for other in alike if other not in late]

    def take_older(self, before: float) -> list[HeldTask]:
        """Take back what has lain here since that moment, or longer."""
        older = []
        with self._lock:
            while self.ready and self.ready[0].delivered_at <= before:
                held = self.ready.popleft()
                older += [held, *self.places.close(held)]
            behind = self.places.take_late(before)
        self.places.learn(late=bool(behind))
        return older + behind

    def clear(self) -> list[HeldTask]:
        """Take back everything that has not begun."""
        with self._lock:
            unbegun = [*self.ready, *self.places.take_all()]
            for held in self.ready:
                self.places.leave(held)
            self.ready.clear()
        return unbegun

    def close(self) -> None:
        """Send the waiting slots home; the busy ones follow when their handler has ended."""
        self.closed = True
        self._wake(len(self._waiting))

    def call_producer(self) -> None:
        self.call_at = NO_CALL
        self.room.nudge()

    async def wait_for_work(self) -> None:
        """Wait as a free slot until there is a task or the queue closes."""
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        self.call_producer()
        try:
            await waiting
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)

    def _give_back_late(self, late: list[HeldTask]) -> None:
        # The tasks expired, or this process was frozen, or the claim's answer was late: another worker may have them.
        with self._lock:
            late += [other for held in late for other in self.places.close(held)]
        log.warning("%d tasks are given back unbegun: they were claimed too long ago, or have expired", len(late))
        self._give_back(late)

    def _wake(self, slots: int) -> None:
        """Wake waiting slots; one that is just being cancelled waits no more."""
        while slots and self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(None)
                slots -= 1


class Demand:
    """Measures the throughput of the whole worker, and says how much of it may be claimed ahead: what the
    worker, as it goes now, will begin in a blink. Pure arithmetic.

    What counts is the time in which any slot had work, whatever took it: handlers, the loop, or a machine
    that is busy with something else. Of the last quarter to half a second of it, a blink's share may wait for
    a slot, and no more than twice what was done in it: nothing before the first task has ended, nor for slow
    handlers. A task that waits behind a busy slot could have run elsewhere.
    """

    __slots__ = ("_before", "_cap", "_clock", "_done", "_rested", "_resting", "_resting_since", "_since", "_slots")

    def __init__(self, cap: int, slots: int, clock: Callable[[], float] = monotonic) -> None:
        self._cap = cap
        self._slots = slots
        self._clock = clock
        self._before = (0, 0.0)
        self._done = 0
        self._since = self._resting_since = clock()
        self._rested = 0.0
        self._resting = slots

    def rest(self) -> None:
        """A slot has nothing to do."""
        self._resting += 1
        if self._resting == self._slots:
            self._resting_since = self._clock()

    def work(self) -> None:
        """A slot has something to do again."""
        if self._resting == self._slots:
            self._rested += self._clock() - self._resting_since
        self._resting -= 1

    def note(self, tasks: int = 1) -> None:
        """Learn that one handler call has ended, with so many tasks."""
        self._done += tasks

    def prefetch(self) -> int:
        """Return how many tasks beyond the free slots will begin within the horizon."""
        busy = self._busy()
        done_before, busy_before = self._before
        done, seconds = done_before + self._done, busy_before + busy
        if busy >= SPAN:
            self._begin_span(busy)
        if seconds <= 0:
            return min(GROWTH * done, self._cap)
        return min(int(HORIZON * done / seconds), GROWTH * done, self._cap)

    def _busy(self) -> float:
        now = self._clock()
        idle = now - self._resting_since if self._resting == self._slots else 0.0
        return now - self._since - self._rested - idle

    def _begin_span(self, busy: float) -> None:
        self._before = (self._done, busy)
        self._done = 0
        self._since = self._clock()
        self._rested = 0.0
        if self._resting == self._slots:
            self._resting_since = self._since


class ClaimLimit:
    """Says how many tasks may be claimed at this moment; every change of it nudges the producer by `changed`.

    A worker that backs off still takes one task while it runs none: whatever makes the machine busy, its
    tasks must not wait for ever.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._drained = False
        self._backing_off = False

    def drain(self, *, on: bool) -> None:
        """Take nothing at all, or again as before."""
        self._drained = on
        self._changed()

    def back_off(self, *, on: bool) -> None:
        """Take only what keeps one slot busy, or again as before."""
        self._backing_off = on
        self._changed()

    def most(self, *, busy: bool) -> int:
        """Return the most tasks that may be claimed now; `busy` when the worker runs any."""
        if self._drained:
            return 0
        if self._backing_off:
            return 0 if busy else 1
        return NO_LIMIT
