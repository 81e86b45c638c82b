"""Durations as programs say them (seconds, or a timedelta) and as people type them: 90, 15m, 4h, 1d12h."""

from __future__ import annotations

import math
import re
from datetime import timedelta

__all__ = ["Duration", "in_seconds", "read_duration", "write_duration"]

Duration = float | timedelta

UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
DURATION = re.compile(r"(?:\d+(?:\.\d+)?[smhdw])+")
PART = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")


def in_seconds(duration: Duration | None) -> float | None:
    """Return the duration in seconds; None stays None."""
    return duration.total_seconds() if isinstance(duration, timedelta) else duration


def read_duration(text: str) -> float:
    """Seconds, from a plain number or from units. Raises ValueError with a sentence for people."""
    if DURATION.fullmatch(text):
        return sum(float(number) * UNITS[unit] for number, unit in PART.findall(text))
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a duration such as 90, 15m, 4h or 1d12h") from None


def write_duration(seconds: float) -> str:
    """The shortest text that `read_duration` reads as these seconds; a fraction of a second stays a plain number."""
    if not math.isfinite(seconds) or seconds < 1 or seconds != int(seconds):
        return f"{seconds:g}"
    rest, parts = int(seconds), []
    for unit, length in UNITS.items():
        number, rest = divmod(rest, length)
        if number:
            parts.append(f"{number}{unit}")
    return "".join(parts)
