"""How many tasks to ask for: the free slots, and what the busy ones will finish in a blink. Pure
arithmetic.
"""

from __future__ import annotations

HORIZON = 0.15
WEIGHT = 0.1


class Demand:
    """A moving estimate of how long one task takes, and the number of tasks that follows from it.

    Nothing is prefetched before the first task has ended, nor for handlers slower than the horizon: a task
    that waits behind a busy slot could have run elsewhere.
    """

    __slots__ = ("_cap", "_estimate")

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._estimate: float | None = None

    def note(self, seconds: float, tasks: int = 1) -> None:
        """Learn from one handler call: a slow one counts at once, a fast one only bit by bit."""
        each = seconds / tasks
        estimate = self._estimate
        if estimate is None or each > HORIZON:
            self._estimate = each
        else:
            self._estimate = estimate + (each - estimate) * WEIGHT

    def prefetch(self, lively_slots: int) -> int:
        """Return how many tasks beyond the free slots so many slots will begin within the horizon."""
        if self._estimate is None:
            return 0
        if self._estimate * self._cap <= HORIZON * lively_slots:
            return self._cap
        return int(HORIZON * lively_slots / self._estimate)
