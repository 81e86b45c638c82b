"""The view of operators on a pool: counts, lists, pauses, a task's history; and the filters for tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal

from rolecall.model.workers import WorkerCommand

PAGING = ("cursor", "limit")
BulkAction = Literal["retry", "cancel", "delete"]
NameKind = Literal["role", "handler", "schedule", "worker", "key"]


@dataclass(frozen=True, slots=True)
class RoleCount:
    """The number of a role's tasks in a state."""

    role: str
    state: str
    number: int


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One event in a task's history; the fields are in the order of the columns read.

    A person's change has an `actor`. If it was part of a bulk action, `bulk_tasks` is the number of tasks that this
    has acted on.
    """

    at: datetime
    kind: str
    attempt: int | None
    worker_id: int | None
    detail: str | None
    actor: str | None = None
    bulk_action_id: int | None = None
    bulk_tasks: int | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One claim of a task and how it ended; the fields are in the order of the columns read.

    `outcome` is None while it runs, otherwise completed, error, timeout, crashed, shutdown, returned, misfit,
    snoozed, blocked, waiting (for children), cancelled, or failed (from outside). `started_at` is None if it never
    started.
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
    """Conditions for listing tasks, newest first. None does not filter; all conditions must hold.

    `state` is a stored state or a status (ready, stale, hanging ...). `role` and `handler` can be several names,
    separated by commas. `roots` excludes children. Times have a zone; `from` is inclusive, `to` exclusive, and open
    tasks have no finishing time. `error_group` selects the failed tasks of one. `text` is searched without regard to
    case in handler, key, dedupe key, error and payload, and `error` in the error. The payload contains `payload`. No
    index supports these three, so each page reads at most 5,000 tasks (50,000 for other conditions without an index)
    and may be short or empty; its cursor continues the search.
    `cursor` is the `next_cursor` of the previous page.
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
    error_group: int | None = None
    error: str | None = None
    payload: Mapping[str, object] | None = None
    cursor: str | None = None
    limit: int = 50

    def conditions(self) -> dict[str, object]:
        """Return the conditions that filter, by name; empty if all tasks match."""
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in PAGING}
        return {name: value for name, value in given.items() if value is not None and value is not False}


@dataclass(frozen=True, slots=True)
class RegisteredWorker:
    """A registered worker. It is active if it has not stopped and sends heartbeats.

    `state` is dead, stopped, silent, leaving, draining, drained, backing off, idle or busy. `cpu` and `memory` are
    shares of its limits, and `clock_ahead` is in seconds. `backing_off` is the reason why it claims no tasks. `held`
    counts the tasks that it had claimed at its last heartbeat, `running_tasks` those that it runs now. `command` is
    its stored command, `following` the one that it has received. It is drained once it follows a command and runs
    nothing. `release` identifies the declarations of its app.
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
    release: str | None
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
class WorkerGroup:
    """The number of live workers that claim tasks of the same roles (an empty list: all roles) and handlers."""

    roles: list[str]
    handlers: list[str]
    number: int


@dataclass(frozen=True, slots=True)
class RunningTask:
    """A task that a worker runs now; the fields are in the order of the columns read."""

    id: int
    worker_id: int
    role: str
    handler: str
    key: str | None
    attempt: int
    started_at: datetime


@dataclass(frozen=True, slots=True)
class DeclaredRole:
    """A stored role. Durations are in seconds, `max_attempts` of 0 means unlimited, and `retry` is the policy.

    With `strict_keys`, at most as many tasks are claimed for a key as may run at once.

    A role that is not paused has no `paused_at`. At `paused_until` the pause ends automatically.
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
    """A pause in effect. A `paused_until` of None means until the role is resumed."""

    role: str
    paused_at: datetime
    paused_until: datetime | None
    paused_by: str | None


@dataclass(frozen=True, slots=True)
class EndedPause:
    """A pause that has expired, and its intended length."""

    role: str
    seconds: float
    paused_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkOutcome:
    """The result of an action on many tasks: how many matched, how often each outcome occurred, the first 100 ids,
    newest first.

    `more` is true if tasks beyond the limit match, or may match. A dry run changes nothing and has no outcomes.
    """

    action: BulkAction
    dry_run: bool
    matched: int
    more: bool
    outcomes: Mapping[str, int]
    ids: list[int]


@dataclass(frozen=True, slots=True)
class FoundName:
    """The name of a thing. Roles, handlers and keys have no id."""

    kind: NameKind
    id: int | None
    name: str
