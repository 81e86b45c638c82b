"""What a handler may return besides a result, and what a worker reports about each claim."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rolecall.model.tasks import NewTask

__all__ = ["Cancel", "Cancelled", "Completed", "Failed", "Report", "Snooze", "Snoozed"]


@dataclass(frozen=True, slots=True)
class Snooze:
    """Returned by a handler: try again in so many seconds; the attempt is given back."""

    seconds: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.seconds) and self.seconds >= 0):
            raise ValueError(f"a snooze takes a finite number of seconds of at least 0, not {self.seconds!r}")


@dataclass(frozen=True, slots=True)
class Cancel:
    """Returned by a handler: this task is pointless and must not be tried again."""

    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """The handler returned. `result_json` is JSON text that is already known to be storable."""

    id: int
    fence: int
    result_json: str | None = None
    ran: float | None = None
    follow_ups: Sequence[NewTask] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The attempt failed: by `reason` error, timeout or cancelled.

    `after` (seconds) overrides the retry policy; `final` ends the task whatever attempts are left.
    """

    id: int
    fence: int
    error: str
    reason: str = "error"
    final: bool = False
    after: float | None = None
    ran: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snoozed:
    """The handler asked to be called again after so many seconds."""

    id: int
    fence: int
    after: float
    ran: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """The handler gave the task up for good."""

    id: int
    fence: int
    error: str = ""
    ran: float | None = None


Report = Completed | Failed | Snoozed | Cancelled
