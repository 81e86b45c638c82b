"""Delays between attempts to do again what failed: growing, capped, spread."""

from __future__ import annotations

import random


class Backoff:
    """Each `next()` is a delay in seconds, `factor` times the one before, spread by a quarter each way."""

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
        """Begin again with the first delay, after a success."""
        self._next = self._first
