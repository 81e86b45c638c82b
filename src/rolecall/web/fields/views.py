"""Tasks, chains and schedules as the API shows them: the stored fields and some derived ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from rolecall.model.chains import Chain, ChainSummary
from rolecall.model.outcomes import why_unstored
from rolecall.model.schedules import StoredSchedule
from rolecall.model.states import TaskState
from rolecall.model.tasks import Task, TaskSummary
from rolecall.web.fields.aliases import HasSecondNames, SecondNames


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTask(HasSecondNames, TaskSummary):
    """A task in a list, without payload and result. Durations are in seconds.

    `state` is stored; `status` is derived and finer (scheduled, ready, stale, retrying ...). `retry_count` counts the
    claims after the first; `max_attempts` and `max_retries` are null if unlimited.
    """

    retry_count: int
    max_retries: int | None
    second_names: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTask(HasSecondNames, Task):
    """A task with its payload and result; `retry_count` and `max_retries` as in a list.

    `unstored` is the reason why the result could not be stored, or null.
    """

    retry_count: int
    max_retries: int | None
    unstored: str | None
    second_names: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSchedule(HasSecondNames, StoredSchedule):
    """A schedule, with its interval also in hours; null for a cron expression."""

    interval_hours: float | None
    second_names: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedChain:
    """A chain in a list, without payload and result.

    Role and handler are those of its first task; state, status, error and `finished_at` those of its latest one.
    """

    id: int
    role: str
    handler: str
    state: TaskState
    status: str
    open: bool
    length: int
    last_id: int
    last_handler: str
    error: str | None
    created_at: datetime
    finished_at: datetime | None
    origin_id: int | None
    parent_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownChain(ListedChain):
    """A chain with its first task's payload, its last task's result, and its tasks in order."""

    payload: dict[str, Any]
    result: Any
    tasks: list[ListedTask]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of an action on one task or chain."""

    id: int
    outcome: str


HOUR = 3600.0
LISTED = tuple(field.name for field in fields(TaskSummary))
SHOWN = tuple(field.name for field in fields(Task))
SCHEDULE_FIELDS = tuple(field.name for field in fields(StoredSchedule))
CHAIN_FIELDS = tuple(field.name for field in fields(ListedChain))


def listed_task(task: TaskSummary, names: SecondNames) -> ListedTask:
    """Return a task as an item of a list."""
    return ListedTask(**_values(task, LISTED), **_counts_of(task), second_names=names.shown(task.key))


def view_of_task(task: Task, names: SecondNames) -> ShownTask:
    """Return a task with all its fields."""
    named = names.shown(task.key, task.payload)
    return ShownTask(**_values(task, SHOWN), **_counts_of(task), unstored=why_unstored(task.result), second_names=named)


def view_of_schedule(schedule: StoredSchedule, names: SecondNames) -> ShownSchedule:
    """Return a schedule for a response."""
    hours = None if schedule.every is None else schedule.every / HOUR
    named = names.shown(schedule.key, schedule.payload)
    return ShownSchedule(**_values(schedule, SCHEDULE_FIELDS), interval_hours=hours, second_names=named)


def listed_chain(chain: ChainSummary) -> ListedChain:
    """Return a chain as an item of a list."""
    return ListedChain(**_values(chain, CHAIN_FIELDS))


def view_of_chain(chain: Chain, tasks: Sequence[Task], names: SecondNames) -> ShownChain:
    """Return a chain with all its fields."""
    stored = _values(chain, CHAIN_FIELDS)
    return ShownChain(
        **stored, payload=chain.payload, result=chain.result, tasks=[listed_task(task, names) for task in tasks]
    )


def _values(row: object, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


def _counts_of(task: TaskSummary) -> dict[str, Any]:
    limit = task.max_attempts
    return {"retry_count": max(0, task.attempt - 1), "max_retries": limit - 1 if limit else None}
