"""A pool's figures over time, computed from counts per bin. Pure arithmetic.

    seconds  < 0.001   0.001 .. 0.00126   0.00126 .. 0.00158   ...   a month and more
    bucket      0              1                  2            ...         95

A histogram maps buckets to counts. Percentiles are interpolated within a bucket, so the error is at most the width of
the bucket, usually an eighth of the value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil

SHORTEST = 0.001
A_DECADE = 10
WIDTHS = (10, 20, 30, 60, 120, 180, 300, 600, 1_200, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400)
# How long the stored bins are retained, by their width (`rolecall.history_tiers`), the widest first.
STORED = {3_600: timedelta(days=90), 600: timedelta(days=10), 60: timedelta(days=2), 10: timedelta(hours=2)}
MOST_POINTS = 150

Histogram = Mapping[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """Percentiles of durations, in seconds."""

    number: int
    p50: float
    p95: float
    longest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBin:
    """The stored counts of a bin; empty bins are not stored."""

    at: datetime
    completed: int
    failed: int
    cancelled: int
    retried: int
    ready: float | None
    running: float | None
    longest_wait: float | None
    longest_run: float | None
    waits: Histogram
    runs: Histogram


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPoint:
    """The tasks that finished within `seconds` from `at`; unknown values are None.

    `retried` counts failed attempts that were not the last of their task. `waiting` is the time from when an attempt
    was due until it started, `running` from then until its end; None if nothing finished. `ready_tasks` and
    `running_tasks` are averages of open tasks; None if they were not counted.
    """

    at: datetime
    seconds: float
    completed: int | None
    failed: int | None
    cancelled: int | None
    retried: int | None
    waiting: Durations | None
    running: Durations | None
    ready_tasks: float | None
    running_tasks: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The history of a role, of one handler, or of all roles (None), in points that are `step_seconds` apart.

    It is known from `since` to `until`, which is some seconds ago, because tasks that finished later may not be
    committed.
    """

    role: str | None
    step_seconds: int
    since: datetime | None
    until: datetime | None
    points: Sequence[HistoryPoint]
    handler: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierHistory:
    """The history of an earlier time, for a comparison: `label` names the time, `ago` is how long ago it was."""

    label: str
    ago: timedelta
    history: History

    def points_at(self, moments: Sequence[datetime]) -> list[HistoryPoint | None]:
        """Return the point that is `ago` before each moment; None where there is none."""
        points, step = self.history.points, timedelta(seconds=self.history.step_seconds)
        begin = points[0].at if points else datetime.max.replace(tzinfo=UTC)
        indexes = ((moment - self.ago - begin) // step for moment in moments)
        return [points[index] if 0 <= index < len(points) else None for index in indexes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The width of a history's points and of the stored bins that they are computed from, in seconds."""

    width: int
    source: int

    def begin(self, moment: datetime) -> datetime:
        """Return the beginning of the bin that contains a moment."""
        seconds = int(moment.timestamp()) // self.width * self.width
        return datetime.fromtimestamp(seconds, UTC)


def scale_for(minutes: int, age: timedelta = timedelta()) -> Scale:
    """Return the narrowest points with which the minutes do not exceed the maximum number of points.

    Their stored bins are retained for longer than `age`.
    """
    fitting = (width for width in WIDTHS if minutes * 60 <= width * MOST_POINTS and STORED[_source_of(width)] > age)
    width = next(fitting, WIDTHS[-1])
    return Scale(width=width, source=_source_of(width))


def _source_of(width: int) -> int:
    return next(source for source in STORED if width % source == 0)


def points_of(
    bins: Mapping[datetime, StoredBin], scale: Scale, begin: datetime, now: datetime, known: tuple[datetime, datetime]
) -> list[HistoryPoint]:
    """Return all points from `begin` to `now`. Within the time span `known`, a missing bin means that nothing
    happened.
    """
    number = ceil((now - begin) / timedelta(seconds=scale.width))
    moments = (begin + timedelta(seconds=scale.width * index) for index in range(number))
    return [_point(at, scale.width, bins.get(at), known) for at in moments]


def durations_of(histogram: Histogram, longest: float | None) -> Durations | None:
    """Summarize a histogram; None if it is empty."""
    number = sum(histogram.values())
    if not number or longest is None:
        return None
    p50, p95 = (min(longest, _percentile(histogram, number * share)) for share in (0.5, 0.95))
    return Durations(number=number, p50=p50, p95=p95, longest=longest)


def _point(at: datetime, width: int, known_bin: StoredBin | None, known: tuple[datetime, datetime]) -> HistoryPoint:
    since, until = known
    seconds = max(0.0, min(float(width), (until - at).total_seconds()))
    found = known_bin or StoredBin(
        at=at, completed=0, failed=0, cancelled=0, retried=0, ready=None, running=None,
        longest_wait=None, longest_run=None, waits={}, runs={},
    )  # fmt: skip
    is_known = seconds > 0 and at >= since
    return HistoryPoint(
        at=at,
        seconds=seconds,
        completed=found.completed if is_known else None,
        failed=found.failed if is_known else None,
        cancelled=found.cancelled if is_known else None,
        retried=found.retried if is_known else None,
        waiting=durations_of(found.waits, found.longest_wait),
        running=durations_of(found.runs, found.longest_run),
        ready_tasks=found.ready,
        running_tasks=found.running,
    )


def _percentile(histogram: Histogram, rank: float) -> float:
    before = 0
    for bucket, number in sorted(histogram.items()):
        if before + number >= rank:
            low, high = _bound(bucket), _bound(bucket + 1)
            return low + (high - low) * (rank - before) / number
        before += number
    return _bound(max(histogram) + 1)


def _bound(bucket: int) -> float:
    return SHORTEST * 10 ** ((bucket - 1) / A_DECADE) if bucket else 0.0
