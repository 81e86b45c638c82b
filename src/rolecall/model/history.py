"""How the pool did over time: pure arithmetic over what was counted bin by bin.

    seconds  < 0.001   0.001 .. 0.00126   0.00126 .. 0.00158   ...   a month and more
    bucket      0              1                  2            ...         95

A histogram is a mapping of buckets to numbers; a percentile is found within its bucket in proportion, and is off by no
more than the bucket is wide, an eighth of its value as a rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil

__all__ = ["Durations", "History", "HistoryPoint", "Scale", "StoredBin", "points_of", "scale_for"]

SHORTEST = 0.001
A_DECADE = 10
WIDTHS = (10, 20, 30, 60, 120, 180, 300, 600, 1_200, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400)
STORED = (3_600, 600, 60, 10)
MOST_POINTS = 150

Histogram = Mapping[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """How long something took, in seconds: half of it at most `p50`, all but a twentieth at most `p95`."""

    number: int
    p50: float
    p95: float
    longest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBin:
    """What the database knows of a bin; one in which nothing is known is not stored."""

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
    """What ended within `seconds` from `at` on; None where that is not known.

    `retried` counts attempts that failed and were not the last of their task. `waiting` is from when an attempt was
    due until it began, `running` from there to its end; None where nothing ended. `ready_tasks` and `running_tasks`
    were open, on average; None where nobody counted.
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
    """A role's past, or that of all roles (None), point by point, each `step_seconds` after the one before.

    It is known from `since` to `until`, some seconds ago: what finished later may not have been committed yet.
    """

    role: str | None
    step_seconds: int
    since: datetime | None
    until: datetime | None
    points: Sequence[HistoryPoint]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """In bins of how many seconds a time is told, and from bins of which width they are made."""

    width: int
    source: int

    def begin(self, moment: datetime) -> datetime:
        """When the bin began that a moment is in."""
        seconds = int(moment.timestamp()) // self.width * self.width
        return datetime.fromtimestamp(seconds, UTC)


def scale_for(minutes: int) -> Scale:
    """The narrowest bins of which not too many make up the time."""
    width = next((width for width in WIDTHS if minutes * 60 <= width * MOST_POINTS), WIDTHS[-1])
    return Scale(width=width, source=next(source for source in STORED if width % source == 0))


def points_of(
    bins: Mapping[datetime, StoredBin], scale: Scale, begin: datetime, now: datetime, known: tuple[datetime, datetime]
) -> list[HistoryPoint]:
    """Every point of a time; `known` says from when to when nothing stored means that nothing happened."""
    number = ceil((now - begin) / timedelta(seconds=scale.width))
    moments = (begin + timedelta(seconds=scale.width * index) for index in range(number))
    return [_point(at, scale.width, bins.get(at), known) for at in moments]


def durations_of(histogram: Histogram, longest: float | None) -> Durations | None:
    """Sum a histogram up; None for an empty one."""
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
    told = seconds > 0 and at >= since
    return HistoryPoint(
        at=at,
        seconds=seconds,
        completed=found.completed if told else None,
        failed=found.failed if told else None,
        cancelled=found.cancelled if told else None,
        retried=found.retried if told else None,
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
    """Where a bucket begins, in seconds."""
    return SHORTEST * 10 ** ((bucket - 1) / A_DECADE) if bucket else 0.0
