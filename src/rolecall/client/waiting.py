"""How often somebody who waits for a task looks: soon at first, then ever more patiently."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["pauses"]

FIRST = 0.01
LONGEST = 0.25
GROWTH = 1.5


def pauses() -> Iterator[float]:
    """Yield the seconds to sleep between looks: 10 ms, growing to 250 ms."""
    pause = FIRST
    while True:
        yield pause
        pause = min(LONGEST, pause * GROWTH)
