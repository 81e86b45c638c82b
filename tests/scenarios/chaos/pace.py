"""The time by which faults are done and a soak ends: it stands still while nothing is worked."""

from __future__ import annotations

import time
from collections.abc import Callable

# What an idle machine of two cores does with ease, in the midst of faults.
RUNS_A_SECOND = 10.0
MOST_SPARED = 2.0


class Pace:
    """Seconds, as long as so many handlers begin in each; on a slower machine they are longer.

    So the faults leave every machine the same work between them, and a run of so many seconds has seen as much of both.
    """

    def __init__(self, runs: Callable[[], int], clock: Callable[[], float] = time.monotonic) -> None:
        self._runs = runs
        self._clock = clock
        self._last = clock()
        self._counted = runs()
        self._spared = 0.0
        self._seconds = 0.0

    def seconds(self) -> float:
        """Return how many have passed; to be asked often."""
        last, counted = self._last, self._counted
        self._last, self._counted = self._clock(), self._runs()
        earned = min(MOST_SPARED, self._spared + (self._counted - counted) / RUNS_A_SECOND)
        passed = min(self._last - last, earned)
        self._spared = earned - passed
        self._seconds += passed
        return self._seconds
