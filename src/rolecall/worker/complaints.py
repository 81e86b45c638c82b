"""How often a log is told of what lasts: at once, and then ever more rarely, but again and again."""

from __future__ import annotations

FIRST_PAUSE = 30.0
LONGEST_PAUSE = 600.0
GROWTH = 2.0


class Complaints:
    """The complaints about one trouble, from its beginning to its end. Pure arithmetic on seconds."""

    __slots__ = ("_due_at", "_pause")

    def __init__(self) -> None:
        self._due_at: float | None = None
        self._pause = FIRST_PAUSE

    @property
    def any(self) -> bool:
        """True once there was one."""
        return self._due_at is not None

    def due(self, now: float) -> bool:
        """Say whether to complain now; if so, the next one is due after a longer pause than this one."""
        if self._due_at is not None and now < self._due_at:
            return False
        self._due_at = now + self._pause
        self._pause = min(LONGEST_PAUSE, self._pause * GROWTH)
        return True
