"""Celery's `crontab` and intervals, converted to Rolecall's schedules."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from rolecall.model.errors import InvalidSchedule

Part = str | int | Iterable[int]
EVERY = "*"
DAY_OR_MONTH = re.compile(r"[A-Za-z]{3,}")


@dataclass(frozen=True, slots=True)
class Rhythm:
    """An interval in seconds, or a cron expression."""

    every: float | None = None
    cron: str | None = None


class crontab:  # noqa: N801 - Celery's name for it
    """Times of the local clock: `crontab(minute=30, hour="7,19", day_of_week="mon-fri")`.

    With both day of month and day of week, Celery requires both to match, cron either. That combination raises
    InvalidSchedule.
    """

    def __init__(
        self,
        minute: Part = EVERY,
        hour: Part = EVERY,
        day_of_week: Part = EVERY,
        day_of_month: Part = EVERY,
        month_of_year: Part = EVERY,
    ) -> None:
        days, weekdays = _format(day_of_month), _format(day_of_week)
        if EVERY not in {days, weekdays}:
            raise InvalidSchedule(
                f"crontab(day_of_month={day_of_month!r}, day_of_week={day_of_week!r}): cron "
                "matches either, Celery both: keep one, and check the other in the task"
            )
        self.expression = " ".join((_format(minute), _format(hour), days, _format(month_of_year), weekdays))

    def __repr__(self) -> str:
        return f"<crontab: {self.expression}>"


class schedule:  # noqa: N801 - Celery's name for it
    """An interval: seconds, or a timedelta."""

    def __init__(self, run_every: float | timedelta) -> None:
        self.run_every = run_every


def rhythm_of(name: str, value: Any) -> Rhythm:
    """Convert the `schedule` of an entry in `beat_schedule`. Raises InvalidSchedule."""
    match value:
        case crontab():
            return Rhythm(cron=value.expression)
        case schedule():
            return rhythm_of(name, value.run_every)
        case timedelta():
            return Rhythm(every=value.total_seconds())
        case int() | float():
            return Rhythm(every=float(value))
        case _:
            raise InvalidSchedule(
                f"schedule {name!r} is a {type(value).__name__}, not a crontab, a timedelta or a number of seconds"
            )


def _format(part: Part) -> str:
    if isinstance(part, str):
        # Celery reads the first three letters of a day or month, in any case.
        return DAY_OR_MONTH.sub(lambda word: word[0][:3].lower(), part.replace(" ", ""))
    return str(part) if isinstance(part, int) else ",".join(map(str, sorted(part)))
