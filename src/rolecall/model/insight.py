"""What the pool says about itself: counts, capacity, lists, and one task's history."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

__all__ = [
    "DeclaredRole",
    "RegisteredWorker",
    "RoleCapacity",
    "RoleCount",
    "StoredSchedule",
    "TaskFilter",
    "TimelineEntry",
]


@dataclass(frozen=True, slots=True)
class RoleCount:
    """How many tasks of a role are in a state."""

    role: str
    state: str
    number: int


@dataclass(frozen=True, slots=True)
class RoleCapacity:
    """What a role has to do and what its workers manage; rates are None while nothing was measured."""

    role: str
    pending_tasks: int
    ready_tasks: int
    running_tasks: int
    active_workers: int
    claimed_last_hour: int
    completed_last_hour: int
    failed_last_hour: int
    tasks_per_worker_hour: float | None
    estimated_hours_to_drain: float | None


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One thing that happened to a task."""

    at: datetime
    kind: str
    attempt: int | None
    worker_id: int | None
    detail: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFilter:
    """Which tasks to list, newest first; None does not filter.

    `state` is a stored state or a finer status (ready, stale, retrying ...); `before` pages on from an id.
    """

    state: str | None = None
    role: str | None = None
    handler: str | None = None
    key: str | None = None
    before: int | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class RegisteredWorker:
    """A worker on the roll; active means not stopped and heard of within five minutes."""

    id: int
    name: str
    roles: list[str]
    handlers: list[str]
    slots: int
    held: int
    idle: bool
    active: bool
    host: str | None
    pid: int | None
    version: str | None
    started_at: datetime
    heartbeat_at: datetime
    stopped_at: datetime | None


@dataclass(frozen=True, slots=True)
class DeclaredRole:
    """A role as it is stored; durations in seconds, `max_attempts` of 0 is no limit."""

    name: str
    description: str
    lease: float
    timeout: float
    max_attempts: int
    max_payload_bytes: int
    keep_completed: float
    keep_failed: float
    paused_at: datetime | None


@dataclass(frozen=True, slots=True)
class StoredSchedule:
    """A schedule as it stands in the database; `every` in seconds."""

    name: str
    handler: str
    role: str
    payload: dict[str, Any]
    every: float
    priority: int
    key: str | None
    enabled: bool
    next_run_at: datetime
    last_run_at: datetime | None
    last_task_id: int | None
    last_task_count: int | None
    last_error: str | None
