"""A rule that enqueues again and again, and what became of its runs; and what spreads tasks over a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, TypeVar

__all__ = [
    "CronPlan",
    "DueCron",
    "Misfire",
    "Overlap",
    "PlannedRun",
    "RunOutcome",
    "Schedule",
    "ScheduleAhead",
    "ScheduleRun",
    "StoredSchedule",
    "Stretch",
    "stagger",
]

T = TypeVar("T")

Misfire = Literal["skip", "one", "all"]
Overlap = Literal["skip", "queue", "cancel"]
RunOutcome = Literal["enqueued", "stood", "skipped", "missed", "refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A stored, editable rule: `every` so many seconds, or when `cron` says so in time zone `zone`, enqueue this.

    `first_run_at` of None means as soon as the schedule is stored, or at the first moment that `cron` names.
    `misfire` says what becomes of slots that went by while nobody ticked: none is run, one (the latest), or all (the
    latest hundred). `overlap` says what is done when the task of the last run is still open: skip the new run, queue
    it beside, or cancel the old one. A run's task starts up to `jitter` seconds after its slot, by chance, but the
    same for the same slot. Of an `immutable` one only rhythm and priority can be changed. One that an app declares may
    have been called otherwise `formerly`: it is renamed, and keeps what people set and its history.
    """

    name: str
    every: float | None = None
    cron: str | None = None
    zone: str = "UTC"
    handler: str | None = None
    role: str | None = None
    payload: Mapping[str, object] = field(default_factory=dict)
    priority: int = 0
    key: str | None = None
    misfire: Misfire = "one"
    overlap: Overlap = "queue"
    jitter: float = 0.0
    enabled: bool = True
    immutable: bool = False
    first_run_at: datetime | None = None
    formerly: str | None = None


@dataclass(frozen=True, slots=True)
class StoredSchedule:
    """A schedule as it stands in the database; `every` and `jitter` in seconds.

    `last_task_count` is how many tasks the last run brought: those that its task made, or 1 where it made none.
    `made_by` is `app` for one that an app declares, else `person`; `edited_at` is when a person last changed it.
    `revision` grows with every change of the rule, not with its runs. `withdrawn` says why a schedule is disabled whose
    app no longer declares it; one that a person has edited goes on.
    """

    id: int
    name: str
    handler: str
    role: str
    payload: dict[str, Any]
    every: float | None
    cron: str | None
    zone: str
    priority: int
    key: str | None
    misfire: Misfire
    overlap: Overlap
    jitter: float
    enabled: bool
    immutable: bool
    made_by: Literal["app", "person"]
    edited_at: datetime | None
    revision: int
    next_run_at: datetime
    last_run_at: datetime | None
    last_task_id: int | None
    last_task_count: int | None
    last_error: str | None
    withdrawn: str | None


@dataclass(frozen=True, slots=True)
class ScheduleRun:
    """What became of one slot, or of a run that somebody asked for, which has no slot.

    `late` is how many seconds after its slot it was dealt with; `missed` how many slots before it went by without
    a run; `task_count` how many tasks it brought. `outcome`: enqueued; stood (an open task stands for it); skipped
    (the last run was open); missed (too late); refused, with the error.
    """

    id: int
    slot: datetime | None
    at: datetime
    late: float | None
    outcome: RunOutcome
    missed: int
    task_id: int | None
    task_count: int
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """A slot to come, and when its task will be due: later than the slot by the jitter drawn for it."""

    slot: datetime
    due_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Slots that follow each other closely: from the first to the last, and how many they are; often one alone."""

    first: datetime
    last: datetime
    slots: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleAhead:
    """What is to come of a schedule; of a disabled one, what would."""

    schedule_id: int
    name: str
    enabled: bool
    stretches: Sequence[Stretch]


@dataclass(frozen=True, slots=True)
class DueCron:
    """A schedule with a cron expression that has come to its next moment, and the present as the database sees it."""

    id: int
    name: str
    cron: str
    zone: str
    revision: int
    next_run_at: datetime
    present: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CronPlan:
    """What to do about a due one: run the latest of these `slots` (of `come` in all), and go on at `next`.

    Where there is no next slot, `error` says why, and the schedule is disabled.
    """

    due: DueCron
    slots: tuple[datetime, ...] = ()
    come: int = 0
    next: datetime | None = None
    error: str | None = None


def stagger(items: Iterable[T], *, batches: int = 6, over: timedelta, start: datetime) -> Iterator[tuple[T, datetime]]:
    """Pair each item with the moment at which its batch begins, in the items' order.

    The batches are of the same size, give or take one, and begin `over / batches` apart, the first at `start`:
    300 items in 6 batches over a day are 50 every four hours. Raises ValueError for no batch, a negative time or a
    start without a time zone.
    """
    if batches < 1 or over < timedelta() or start.tzinfo is None:
        raise ValueError("staggering needs a batch at least, a time that is not negative, and a start with a time zone")
    everything = list(items)
    return (
        (item, start + over * (number * batches // len(everything)) / batches) for number, item in enumerate(everything)
    )
