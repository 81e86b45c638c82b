"""Typed calls that look at the pool: counts, capacity, lists, one task's history."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

import json
from itertools import starmap

from rolecall.model.insight import (
    DeclaredRole,
    RegisteredWorker,
    RoleCapacity,
    RoleCount,
    StoredSchedule,
    TaskFilter,
    TimelineEntry,
)
from rolecall.model.tasks import Task
from rolecall.sql.statement import Row, Statement
from rolecall.sql.tasks import TASK_COLUMNS, read_task

__all__ = ["capacity", "counts", "handler_names", "roles", "schedules", "tasks", "timeline", "workers"]

CAPACITY_COLUMNS = ", ".join(RoleCapacity.__slots__)
WORKER_COLUMNS = (
    "id, name, roles, handlers, slots, held, idle, "
    "stopped_at is null and heartbeat_at > rolecall.clock() - interval '5 minutes', "
    "host, pid, version, started_at, heartbeat_at, stopped_at"
)
ROLE_COLUMNS = (
    "name, description, extract(epoch from lease)::float8, extract(epoch from timeout)::float8, "
    "coalesce(max_attempts, 0), max_payload_bytes, extract(epoch from keep_completed)::float8, "
    "extract(epoch from keep_failed)::float8, paused_at"
)
SCHEDULE_COLUMNS = (
    "name, handler, role, payload::text, extract(epoch from every)::float8, priority, key, enabled, "
    "next_run_at, last_run_at, last_task_id, last_task_count, last_error"
)


def counts() -> Statement[list[RoleCount]]:
    """Count the tasks of each role and state."""
    return Statement(
        query="select role, state, number from rolecall.counts()",
        read=lambda rows: list(starmap(RoleCount, rows)),
    )


def capacity() -> Statement[list[RoleCapacity]]:
    """Ask what each role has to do and what its workers manage."""
    return Statement(
        query=f"select {CAPACITY_COLUMNS} from rolecall.capacity()",
        read=lambda rows: list(starmap(RoleCapacity, rows)),
    )


def timeline(task_id: int) -> Statement[list[TimelineEntry]]:
    """Ask what happened to a task, oldest first."""
    return Statement(
        query="select at, kind, attempt, worker_id, detail from rolecall.timeline(%s::bigint)",
        params=(task_id,),
        read=lambda rows: list(starmap(TimelineEntry, rows)),
    )


def tasks(which: TaskFilter) -> Statement[list[Task]]:
    """List tasks, open and finished, newest first."""
    conditions = [
        ("%s::text in (state::text, status)", which.state),
        ("role = %s::text", which.role),
        ("handler = %s::text", which.handler),
        ("key = %s::text", which.key),
        ("id < %s::bigint", which.before),
    ]
    given = [(condition, value) for condition, value in conditions if value is not None]
    return Statement(
        query=(
            f"select {TASK_COLUMNS} from rolecall.all_tasks"
            f" where {' and '.join(['true', *(condition for condition, _ in given)])}"
            " order by id desc limit %s::int"
        ),
        params=(*(value for _, value in given), which.limit),
        read=lambda rows: list(map(read_task, rows)),
    )


def workers() -> Statement[list[RegisteredWorker]]:
    """List the workers on the roll, the latest heard of first."""
    return Statement(
        query=f"select {WORKER_COLUMNS} from rolecall.workers order by heartbeat_at desc, id desc",
        read=lambda rows: list(starmap(RegisteredWorker, rows)),
    )


def roles() -> Statement[list[DeclaredRole]]:
    """List the roles by name."""
    return Statement(
        query=f"select {ROLE_COLUMNS} from rolecall.roles order by name",
        read=lambda rows: list(starmap(DeclaredRole, rows)),
    )


def handler_names() -> Statement[list[str]]:
    """List the names of the declared handlers."""
    return Statement(
        query="select name from rolecall.handlers order by name", read=lambda rows: [name for (name,) in rows]
    )


def schedules() -> Statement[list[StoredSchedule]]:
    """List the schedules by name."""
    return Statement(
        query=f"select {SCHEDULE_COLUMNS} from rolecall.schedules order by name",
        read=lambda rows: list(map(_read_schedule, rows)),
    )


def _read_schedule(row: Row) -> StoredSchedule:
    name, handler, role, payload, *rest = row
    return StoredSchedule(name, handler, role, json.loads(payload), *rest)
