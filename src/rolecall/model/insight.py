"""What the pool says about itself: counts, lists, pauses, one task's history; and which tasks are asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal

from rolecall.model.workers import WorkerCommand

__all__ = [
    "Attempt",
    "BulkAction",
    "BulkOutcome",
    "DeclaredRole",
    "EndedPause",
    "Pause",
    "RegisteredWorker",
    "RoleCount",
    "RunningTask",
    "TaskFilter",
    "TimelineEntry",
]

PAGING = ("cursor", "limit")
BulkAction = Literal["retry", "cancel", "delete"]


@dataclass(frozen=True, slots=True)
class RoleCount:
    """How many tasks of a role are in a state."""

    role: str
    state: str
    number: int


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One thing that happened to a task."""

    at: datetime
    kind: str
    attempt: int | None
    worker_id: int | None
    detail: str | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One claim of a task: by whom, since when, and how it ended; the fields stand in the order of the columns read.

    `outcome` is None while it runs, else completed, error, timeout, crashed, shutdown, returned, misfit, snoozed,
    blocked, waiting (for children), cancelled, or failed (from outside). `started_at` is None where it never began.
    """

    attempt: int
    worker_id: int | None
    claimed_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    outcome: str | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFilter:
    """Which tasks to list, newest first; None does not filter, and what is given must hold together.

    `state` is a stored state or a finer status (ready, stale, retrying ...). `roots` leaves out children. The times
    have a zone; `from` is included, `to` is not, and an open task is in no range of finishing times. `text` is looked
    for, in upper or lower case alike, in handler, key, dedupe key, error and payload: no index serves it, so each page
    reads at most 2,000 tasks for it (50,000 for anything else that no index serves) and may come short, even empty;
    its cursor goes on from there. `cursor` is the `next_cursor` of the page before.
    """

    ids: Sequence[int] | None = None
    state: str | None = None
    role: str | None = None
    handler: str | None = None
    key: str | None = None
    worker_id: int | None = None
    chain_id: int | None = None
    parent_id: int | None = None
    roots: bool = False
    text: str | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None
    finished_from: datetime | None = None
    finished_to: datetime | None = None
    cursor: str | None = None
    limit: int = 50

    def conditions(self) -> dict[str, object]:
        """What filters, by name; empty where everything is meant."""
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in PAGING}
        return {name: value for name, value in given.items() if value is not None and value is not False}


@dataclass(frozen=True, slots=True)
class RegisteredWorker:
    """A worker on the roll; active means not stopped and heard of within five minutes.

    `state` is stopped, silent, leaving, draining, drained, backing off, idle or busy. `cpu` and `memory` are shares
    of what it may use, `clock_ahead` is in seconds, `backing_off` says why it takes no new tasks for now. `held`
    counts what it had claimed at its last beat, `running_tasks` are those that it runs now. `command` is what it was
    told, `following` what it has heard of that; it is drained when it follows and runs nothing.
    """

    id: int
    name: str
    roles: list[str]
    handlers: list[str]
    slots: int
    held: int
    idle: bool
    active: bool
    state: str
    host: str | None
    pid: int | None
    version: str | None
    pod: str | None
    node: str | None
    started_at: datetime
    heartbeat_at: datetime
    stopped_at: datetime | None
    cpu: float | None
    memory: float | None
    memory_bytes: int | None
    clock_ahead: float | None
    backing_off: str | None
    command: WorkerCommand | None
    commanded_at: datetime | None
    following: WorkerCommand | None
    running_tasks: list[int]


@dataclass(frozen=True, slots=True)
class AlikeWorkers:
    """How many live workers take new tasks of the same roles (an empty list: of every one) and handlers."""

    roles: list[str]
    handlers: list[str]
    number: int


@dataclass(frozen=True, slots=True)
class RunningTask:
    """A task that a worker runs now; the fields stand in the order of the columns read."""

    id: int
    worker_id: int
    role: str
    handler: str
    key: str | None
    attempt: int
    started_at: datetime


@dataclass(frozen=True, slots=True)
class DeclaredRole:
    """A role as it is stored; durations in seconds, `max_attempts` of 0 is no limit, `retry` is the policy.

    With `strict_keys` at most as many of its tasks are claimed for a key as may run at once.

    A role that is not paused has no `paused_at`; one with a `paused_until` goes on by itself then.
    """

    name: str
    description: str
    lease: float
    timeout: float
    max_attempts: int
    retry: Mapping[str, Any]
    one_root: bool
    idempotent: bool
    max_payload_bytes: int
    keep_completed: float
    keep_failed: float
    strict_keys: bool
    paused_at: datetime | None
    paused_until: datetime | None
    paused_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A pause that stands; `paused_until` of None: until somebody resumes the role."""

    role: str
    paused_at: datetime
    paused_until: datetime | None
    paused_by: str | None


@dataclass(frozen=True, slots=True)
class EndedPause:
    """A pause whose time is up, and how long it was meant to be."""

    role: str
    seconds: float
    paused_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkOutcome:
    """How many tasks were meant, how often each outcome came, and the first 100 ids, newest first.

    `more` says that beyond the limit others match, or may. A dry run changes nothing and has no outcomes.
    """

    action: BulkAction
    dry_run: bool
    matched: int
    more: bool
    outcomes: Mapping[str, int]
    ids: list[int]
