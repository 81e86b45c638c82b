"""How fast a number grows, over the last seconds."""

from __future__ import annotations

from collections import deque

WINDOW_SECONDS = 10.0


class Rate:
    """A growing number's increase a second, over a window that moves along."""

    def __init__(self) -> None:
        self._looks: deque[tuple[float, int]] = deque()

    def look(self, seconds: float, number: int) -> None:
        """Take note of the number at a moment."""
        self._looks.append((seconds, number))
        while self._looks[-1][0] - self._looks[0][0] > WINDOW_SECONDS:
            self._looks.popleft()

    @property
    def per_second(self) -> float:
        """The increase a second; 0 until there are two looks."""
        if len(self._looks) < 2:  # noqa: PLR2004 - a slope needs two points
            return 0.0
        (began, first), (ended, last) = self._looks[0], self._looks[-1]
        return (last - first) / (ended - began) if ended > began else 0.0
