"""The clock of faults and soaks. It stops while no tasks run."""

from __future__ import annotations

import time
from collections.abc import Callable

# An idle machine with two cores easily reaches this rate, even during faults.
RUNS_A_SECOND = 10.0
MOST_SPARED = 2.0


class Pace:
    """Seconds in each of which a minimum number of handlers starts. On a slower machine they are longer.

    So faults leave every machine the same amount of work between them, and a soak of a given length sees as much of both.
    """

    def __init__(self, runs: Callable[[], int], clock: Callable[[], float] = time.monotonic) -> None:
        self._runs = runs
        self._clock = clock
        self._last = clock()
        self._counted = runs()
        self._spared = 0.0
        self._seconds = 0.0

    def seconds(self) -> float:
        """Return the elapsed seconds. Must be called often."""
        last, counted = self._last, self._counted
        self._last, self._counted = self._clock(), self._runs()
        earned = min(MOST_SPARED, self._spared + (self._counted - counted) / RUNS_A_SECOND)
        passed = min(self._last - last, earned)
        self._spared = earned - passed
        self._seconds += passed
        return self._seconds
