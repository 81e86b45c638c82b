"""When to try again, as a handler says it: in so many seconds, or at a moment."""

from __future__ import annotations

import math
from datetime import datetime

__all__ = ["require_when"]


def require_when(what: str, seconds: float | None, moment: datetime | None) -> None:
    """Raise ValueError unless exactly one is given: finite seconds of at least 0, or a moment with a time zone."""
    if (seconds is None) == (moment is None):
        raise ValueError(f"{what} takes either a number of seconds or a moment")
    if seconds is not None and not (math.isfinite(seconds) and seconds >= 0):
        raise ValueError(f"{what} takes a finite number of seconds of at least 0, not {seconds!r}")
    if moment is not None and moment.tzinfo is None:
        raise ValueError(f"{what} takes a moment with a time zone, not {moment.isoformat()}")
