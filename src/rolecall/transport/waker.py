"""Waiting for work, and the delays between polls and between retries.

A wait ends with a nudge or a timeout. A nudge before it is not lost.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass

QUICK_PERIOD = 1.0
QUICK_FIRST = 0.05
ASK_AFTER = 0.1
DEAF_INTERVAL = 1.0
SHORTEST = 0.005


class Waker:
    """Any number of nudges before or during a wait end that wait."""

    __slots__ = ("_nudged", "_waiting")

    def __init__(self) -> None:
        self._nudged = False
        self._waiting: asyncio.Future[None] | None = None

    def nudge(self) -> None:
        """End the current wait, or the next one."""
        self._nudged = True
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def forget(self) -> None:
        """Drop earlier nudges. Call it right before looking for work, which answers them."""
        self._nudged = False

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait for a nudge, at most `seconds`. Return whether one came."""
        if not self._nudged:
            loop = asyncio.get_running_loop()
            self._waiting = loop.create_future()
            timer = loop.call_later(seconds, self._time_is_up) if seconds is not None else None
            try:
                await self._waiting
            finally:
                self._waiting = None
                if timer is not None:
                    timer.cancel()
        nudged, self._nudged = self._nudged, False
        return nudged

    def _time_is_up(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceOptions:
    """Seconds between polls, and the jitter that keeps a fleet from polling in step."""

    poll_interval: float = 5.0
    spread: float = 0.05


class Pace:
    """Computes the delay until the next poll from the time since work was last found.

    `is_cut_off` means that notifications are expected but do not arrive.
    """

    __slots__ = ("_dry_since", "_is_cut_off", "_options", "_quick")

    def __init__(self, options: PaceOptions, is_cut_off: Callable[[], bool]) -> None:
        self._options = options
        self._is_cut_off = is_cut_off
        self._dry_since: float | None = None
        self._quick = QUICK_FIRST

    def found_work(self) -> None:
        """Reset the delay, so that the next idle period starts with quick polls."""
        self._dry_since = None
        self._quick = QUICK_FIRST

    def is_slow(self, now: float) -> bool:
        """True if the next delay is long enough to query when the next task is due."""
        return self._dry_since is not None and now - self._dry_since >= ASK_AFTER

    def next_delay(self, now: float, *, next_due: float | None) -> float:
        """Return the seconds until the next poll.

        A `next_due` of 0 means that a task was due but could not be claimed, because its row or key is locked. It
        justifies an early poll, but not an immediate one, which could repeat forever.
        """
        if self._dry_since is None:
            self._dry_since = now
        if now - self._dry_since < QUICK_PERIOD or next_due == 0:
            delay = min(self._quick, self._options.poll_interval)
            self._quick *= 2
        else:
            delay = self._slow_delay()
        return min(delay, max(next_due, SHORTEST)) if next_due else delay

    def _slow_delay(self) -> float:
        interval = self._options.poll_interval
        if self._is_cut_off():
            interval = min(interval, DEAF_INTERVAL)
        return interval * random.uniform(1 - self._options.spread, 1 + self._options.spread)


async def comes_within(event: asyncio.Event, seconds: float) -> bool:
    """Wait up to this many seconds for an event. Return whether it is set."""
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


class Backoff:
    """Delays between retries. Each `next()` is in seconds, `factor` times the previous one, with 25 % jitter."""

    __slots__ = ("_cap", "_factor", "_first", "_next")

    def __init__(self, first: float, cap: float, factor: float = 2.0) -> None:
        self._first = first
        self._cap = cap
        self._factor = factor
        self._next = first

    def next(self) -> float:
        delay = self._next
        self._next = min(self._cap, delay * self._factor)
        return delay * random.uniform(0.75, 1.25)

    def reset(self) -> None:
        """Start again with the first delay, after a success."""
        self._next = self._first
