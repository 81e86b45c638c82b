"""How many tasks to ask for beyond the free slots: what the worker, as it goes now, will begin in a blink. Pure
arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

HORIZON = 0.15
SPAN = 0.25
GROWTH = 2


class Demand:
    """Measures the throughput of the whole worker, and says how much of it may be claimed ahead.

    What counts is the time in which any slot had work, whatever took it: handlers, the loop, or a machine that is
    busy with something else. Of the last quarter to half a second of it, a blink's share may wait for a slot, and no
    more than twice what was done in it: nothing before the first task has ended, nor for slow handlers. A task that
    waits behind a busy slot could have run elsewhere.
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
