"""Schedules, their runs, and the distribution of tasks over a time span."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, TypeVar

T = TypeVar("T")

Misfire = Literal["skip", "one", "all"]
Overlap = Literal["skip", "queue", "cancel"]
RunOutcome = Literal["enqueued", "stood", "skipped", "missed", "refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A rule that enqueues a task repeatedly: `every` so many seconds, or at the times of `cron` in the time zone
    `zone`.

    Without `first_run_at`, it first runs when it is stored, or at the first time of `cron`. `misfire` decides about
    fire times that passed while no scheduler ran: run none, one (the latest), or all (the latest hundred). `overlap`
    decides what happens if the task of the previous run is still open: skip the new run, queue it as well, or cancel
    the old task. A task starts up to `jitter` seconds after its fire time; the random delay is the same for the same
    fire time. Of an `immutable` schedule, only rhythm and priority can be changed. An app's schedule that was named
    `formerly` is renamed and retains its history and the changes that people made.
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
    """A stored schedule; `every` and `jitter` are in seconds.

    `last_task_count` is the number of children of the last run's task, or 1 if it had none. `made_by` is `app` for a
    declared schedule, otherwise `person`; `edited_at` is when a person last changed it. `revision` increases with
    each change of the rule, not with its runs. `withdrawn` is the reason why a schedule is disabled: its app no
    longer declares it. A schedule that a person has edited remains enabled.
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
    """The record of one fire time, or of a manual run, which has none.

    `late` is the delay in seconds after the fire time; `missed` counts the fire times before it that passed without a
    run; `task_count` counts its tasks. `outcome` is `enqueued`; `stood` (an open task has its dedupe key); `skipped`
    (the previous run's task was open); `missed` (too late); or `refused`, with the error.
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
    """A future fire time, and when its task will be due: after the fire time by the jitter."""

    slot: datetime
    due_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FireTimeRange:
    """The number of fire times in quick succession, from the first to the last; often a single one."""

    first: datetime
    last: datetime
    slots: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleAhead:
    """The future fire times of a schedule; if it is disabled, those it would have."""

    schedule_id: int
    name: str
    enabled: bool
    stretches: Sequence[FireTimeRange]


@dataclass(frozen=True, slots=True)
class DueCron:
    """A schedule with a cron expression whose fire time has come, and the database's present time."""

    id: int
    name: str
    cron: str
    zone: str
    revision: int
    next_run_at: datetime
    present: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CronPlan:
    """The plan for a due schedule: run the latest of `slots` (`due_count` in all), and continue at `next`.

    Without a next fire time, `error` is the reason, and the schedule is disabled.
    """

    due: DueCron
    slots: tuple[datetime, ...] = ()
    due_count: int = 0
    next: datetime | None = None
    error: str | None = None


def stagger(items: Iterable[T], *, batches: int = 6, over: timedelta, start: datetime) -> Iterator[tuple[T, datetime]]:
    """Pair each item with the start of its batch, in the items' order.

    The batches differ in size by at most one and start `over / batches` apart, the first at `start`: 300 items in 6
    batches over a day are 50 every four hours. Raises ValueError for no batch, a negative time or a start without a
    time zone.
    """
    if batches < 1 or over < timedelta() or start.tzinfo is None:
        raise ValueError("stagger needs at least one batch, a non-negative time span, and a start with a time zone")
    everything = list(items)
    return (
        (item, start + over * (number * batches // len(everything)) / batches) for number, item in enumerate(everything)
    )
