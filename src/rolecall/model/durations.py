"""Durations, as numbers of seconds, as timedeltas, and as text: 90, 15m, 4h, 1d12h."""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta

Duration = float | timedelta
UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
DURATION = re.compile(r"(?:\d+(?:\.\d+)?[smhdw])+")
PART = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")


def in_seconds(duration: Duration | None) -> float | None:
    """Return the duration in seconds; None stays None."""
    return duration.total_seconds() if isinstance(duration, timedelta) else duration


def read_duration(text: str) -> float:
    """Return the seconds that a text means: a plain number or numbers with units. Raises ValueError."""
    if DURATION.fullmatch(text):
        return sum(float(number) * UNITS[unit] for number, unit in PART.findall(text))
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a duration such as 90, 15m, 4h or 1d12h") from None


def write_duration(seconds: float) -> str:
    """Return the shortest text that `read_duration` reads as these seconds; fractions are written as plain numbers."""
    if not math.isfinite(seconds) or seconds < 1 or seconds != int(seconds):
        return f"{seconds:g}"
    rest, parts = int(seconds), []
    for unit, length in UNITS.items():
        number, rest = divmod(rest, length)
        if number:
            parts.append(f"{number}{unit}")
    return "".join(parts)


def require_when(what: str, seconds: float | None, moment: datetime | None) -> None:
    """Raise ValueError unless exactly one is given: finite seconds of at least 0, or a moment with a time zone."""
    if (seconds is None) == (moment is None):
        raise ValueError(f"{what} takes either a number of seconds or a moment")
    if seconds is not None and not (math.isfinite(seconds) and seconds >= 0):
        raise ValueError(f"{what} takes a finite number of seconds of at least 0, not {seconds!r}")
    if moment is not None and not isinstance(moment, datetime):
        raise ValueError(f"{what} takes a moment as a datetime with a time zone, not {moment!r}")
    if moment is not None and moment.tzinfo is None:
        raise ValueError(f"{what} takes a moment with a time zone, not {moment.isoformat()}")
