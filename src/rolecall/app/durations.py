"""Durations as people write them: seconds, or a timedelta."""

from __future__ import annotations

from datetime import timedelta

__all__ = ["Duration", "in_seconds"]

Duration = float | timedelta


def in_seconds(duration: Duration | None) -> float | None:
    """Return the duration in seconds; None stays None."""
    return duration.total_seconds() if isinstance(duration, timedelta) else duration
