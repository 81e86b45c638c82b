"""How long a dry worker may wait before it looks again: pure arithmetic over a monotonic clock."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

QUICK_PERIOD = 1.0
QUICK_FIRST = 0.05
ASK_AFTER = 0.1
DEAF_INTERVAL = 1.0
SHORTEST = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceOptions:
    """Seconds between polls, and by which share each one is spread so that a fleet does not poll in step."""

    poll_interval: float = 5.0
    spread: float = 0.05


class Pace:
    """Remembers since when the worker is dry and turns that into the next delay.

    `deaf` says that notifications are expected and do not come.
    """

    __slots__ = ("_deaf", "_dry_since", "_options", "_quick")

    def __init__(self, options: PaceOptions, deaf: Callable[[], bool]) -> None:
        self._options = options
        self._deaf = deaf
        self._dry_since: float | None = None
        self._quick = QUICK_FIRST

    def found_work(self) -> None:
        """Forget the drought: the next dry spell starts with quick polls again."""
        self._dry_since = None
        self._quick = QUICK_FIRST

    def is_slow(self, now: float) -> bool:
        """True when the next delay is long enough that it is worth asking when a task becomes due."""
        return self._dry_since is not None and now - self._dry_since >= ASK_AFTER

    def next_delay(self, now: float, *, next_due: float | None) -> float:
        """Return the seconds until the next look.

        A `next_due` of 0 is a task that was due and yet not claimed (somebody else has its row, or its
        key): it is worth another look soon, but looking again at once could go on for ever.
        """
        if self._dry_since is None:
            self._dry_since = now
        quick = now - self._dry_since < QUICK_PERIOD or next_due == 0
        delay = self._quick_delay() if quick else self._slow_delay()
        return min(delay, max(next_due, SHORTEST)) if next_due else delay

    def _quick_delay(self) -> float:
        delay = self._quick
        self._quick = delay * 2
        return min(delay, self._options.poll_interval)

    def _slow_delay(self) -> float:
        interval = self._options.poll_interval
        if self._deaf():
            interval = min(interval, DEAF_INTERVAL)
        return interval * random.uniform(1 - self._options.spread, 1 + self._options.spread)
