"""What can be said of a schedule where it is declared, beside its rhythm and its payload."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypedDict

from rolecall.model.durations import Duration, in_seconds
from rolecall.model.schedules import Misfire, Overlap

__all__ = ["ScheduleOptions", "in_plain_words"]


class ScheduleOptions(TypedDict, total=False):
    """The words of `app.schedule`; `jitter` is in seconds or a timedelta."""

    zone: str
    priority: int
    key: str | None
    misfire: Misfire
    overlap: Overlap
    jitter: Duration
    enabled: bool
    immutable: bool
    first_run_at: datetime | None


def in_plain_words(options: ScheduleOptions) -> dict[str, Any]:
    """Return the options as a Schedule takes them."""
    plain: dict[str, Any] = dict(options)
    if "jitter" in options:
        plain["jitter"] = in_seconds(options["jitter"])
    return plain
