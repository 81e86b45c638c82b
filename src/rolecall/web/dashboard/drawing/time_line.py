"""The next hours of schedules as lanes: a mark for each run, and a band for runs in quick succession."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from rolecall.model.schedules import FireTimeRange, ScheduleAhead, StoredSchedule
from rolecall.web.dashboard.presenters.clock_changes import in_zone

HOURS = 24
LABEL_HOURS = 3
# The width of the drawing and of its smallest piece, in units.
WIDTH, THINNEST = 1_000.0, 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A run or a band of runs; `x` and `width` in units of the drawing."""

    x: float
    width: float
    title: str
    is_band: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """The planned runs of one schedule, and their description."""

    schedule: StoredSchedule
    pieces: Sequence[Piece]
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLine:
    """All lanes, the times of the equally wide labels above them, and the position of the current time."""

    lanes: Sequence[Lane]
    labels: Sequence[datetime]
    now: float
    hour_lines: Sequence[float]


def time_line(schedules: Sequence[StoredSchedule], ahead: Sequence[ScheduleAhead], present: datetime) -> TimeLine:
    """Draw the planned runs from the start of the current hour."""
    start = present.replace(minute=0, second=0, microsecond=0)
    runs = {each.schedule_id: each.stretches for each in ahead}
    return TimeLine(
        lanes=[_lane(schedule, runs.get(schedule.id, ()), start) for schedule in schedules],
        labels=[start + timedelta(hours=hour) for hour in range(0, HOURS, LABEL_HOURS)],
        now=_x(present, start),
        hour_lines=[WIDTH * hour / HOURS for hour in range(0, HOURS, LABEL_HOURS)],
    )


def _lane(schedule: StoredSchedule, runs: Sequence[FireTimeRange], start: datetime) -> Lane:
    end = start + timedelta(hours=HOURS)
    pieces = [_piece(schedule, each, start, end) for each in runs if each.first < end]
    number = sum(each.slots for each in runs)
    words = f"{number} run{'' if number == 1 else 's'} within {HOURS} hours"
    return Lane(schedule=schedule, pieces=pieces, words=words if schedule.enabled else f"disabled; would be {words}")


def _piece(schedule: StoredSchedule, runs: FireTimeRange, start: datetime, end: datetime) -> Piece:
    x, until = _x(runs.first, start), _x(min(runs.last, end), start)
    first = in_zone(runs.first, schedule.zone)
    title = first if runs.slots == 1 else f"{runs.slots} runs from {first} to {in_zone(runs.last, schedule.zone)}"
    width = max(THINNEST, until - x)
    return Piece(x=round(min(x, WIDTH - width), 1), width=round(width, 1), title=title, is_band=runs.slots > 1)


def _x(moment: datetime, start: datetime) -> float:
    return WIDTH * (moment - start) / timedelta(hours=HOURS)
