"""What something costs that is done again and again, however long others made it wait at times."""

from __future__ import annotations

from collections import deque

__all__ = ["Cost"]

TRIES = 3


class Cost:
    """In seconds: the least that one of the last few tries took; until there are so many, it counts as nothing.

    Any of them may have waited for a connection, or for a busy machine.
    """

    def __init__(self) -> None:
        self._tries = deque([0.0] * (TRIES - 1), maxlen=TRIES)

    def after(self, took: float) -> float:
        """Return it with the latest try, of `took` seconds."""
        self._tries.append(took)
        return min(self._tries)
