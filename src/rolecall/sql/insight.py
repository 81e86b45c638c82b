"""Typed calls for counts, short lists, and one task's history."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import starmap

import msgspec

from rolecall.model.operator.insight import (
    Attempt,
    DeclaredRole,
    FoundName,
    NameKind,
    RegisteredWorker,
    RoleCount,
    RunningTask,
    TimelineEntry,
    WorkerGroup,
)
from rolecall.sql.statement import Row, Statement, compiled, from_json, single

WORKERS = compiled(list[RegisteredWorker])
WORKER_COLUMNS = ", ".join(RegisteredWorker.__slots__)
TIMELINE_COLUMNS = ", ".join(TimelineEntry.__slots__)
ATTEMPT_COLUMNS = ", ".join(Attempt.__slots__)
ROLE_COLUMNS = (
    "name, description, extract(epoch from lease)::float8, extract(epoch from timeout)::float8, "
    "coalesce(max_attempts, 0), retry::text, one_root, idempotent, max_payload_bytes, "
    "extract(epoch from keep_completed)::float8, extract(epoch from keep_failed)::float8, strict_keys, "
    "pause.at, pause.until, pause.by"
)
# An expired pause remains in the row until it is cleared.
STANDING_PAUSE = (
    "left join lateral (select paused_at, paused_until, paused_by where (paused_until <= rolecall.clock()) is not true)"
    " as pause (at, until, by) on true"
)


def counts() -> Statement[list[RoleCount]]:
    """Count the tasks of each role and state."""
    return Statement(
        query="select role, state, number from rolecall.counts()",
        read=lambda rows: list(starmap(RoleCount, rows)),
    )


def clock() -> Statement[datetime]:
    """Return the pool's present time."""
    return Statement(query="select rolecall.clock()", read=single)


def counts_of_run(roles: Sequence[str], since: datetime) -> Statement[list[RoleCount]]:
    """Count the tasks of these roles (none: all roles): open ones, and those that have finished since a moment."""
    return Statement(
        query="select role, state, number from rolecall.counts_of_run(%s::text[], %s::timestamptz)",
        params=(list(roles), since),
        read=lambda rows: list(starmap(RoleCount, rows)),
    )


def timeline(task_id: int) -> Statement[list[TimelineEntry]]:
    """List the events of a task, oldest first."""
    return Statement(
        query=f"select {TIMELINE_COLUMNS} from rolecall.timeline(%s::bigint)",
        params=(task_id,),
        read=lambda rows: list(starmap(TimelineEntry, rows)),
    )


def attempts(task_id: int, most: int | None = None) -> Statement[list[Attempt]]:
    """List the last `most` attempts of a task, or all, oldest first."""
    return Statement(
        query=(
            f"select {ATTEMPT_COLUMNS} from ("
            " select row_number() over () as turn, * from rolecall.attempts(%s::bigint)"
            " order by turn desc limit %s::int"
            ") as latest order by turn"
        ),
        params=(task_id, most),
        read=lambda rows: list(starmap(Attempt, rows)),
    )


def attempts_of(task_ids: Sequence[int]) -> Statement[dict[int, list[Attempt]]]:
    """List the attempts of these tasks, oldest first."""
    return Statement(
        query=(
            f"select given.id, {ATTEMPT_COLUMNS} from unnest(%s::bigint[]) as given (id)"
            " cross join lateral rolecall.attempts(given.id)"
        ),
        params=(list(task_ids),),
        read=_read_attempts,
    )


def workers() -> Statement[list[RegisteredWorker]]:
    """List the registered workers, the latest heartbeat first."""
    return Statement(
        query=f"select {WORKER_COLUMNS} from rolecall.all_workers order by heartbeat_at desc, id desc",
        read=_read_workers,
    )


def worker(worker_id: int) -> Statement[list[RegisteredWorker]]:
    """Read one worker; the list is empty if it is not registered."""
    return Statement(
        query=f"select {WORKER_COLUMNS} from rolecall.all_workers where id = %s::bigint",
        params=(worker_id,),
        read=_read_workers,
    )


def alike_workers() -> Statement[list[WorkerGroup]]:
    """Count the workers that claim new tasks, grouped by their roles and handlers, so that large fleets take few
    rows.
    """
    return Statement(
        query=(
            "select roles, handlers, count(*) from rolecall.all_workers where active and command is null "
            "group by roles, handlers"
        ),
        read=lambda rows: list(starmap(WorkerGroup, rows)),
    )


def work_in_hand(worker_ids: Sequence[int], most: int) -> Statement[list[RunningTask]]:
    """List the running tasks of workers, up to the `most` longest-running ones of each."""
    return Statement(
        query="select * from rolecall.work_in_hand(%s::bigint[], %s::int)",
        params=(list(worker_ids), most),
        read=lambda rows: list(starmap(RunningTask, rows)),
    )


def roles() -> Statement[list[DeclaredRole]]:
    """List the roles by name."""
    return Statement(
        query=f"select {ROLE_COLUMNS} from rolecall.roles {STANDING_PAUSE} order by name",
        read=lambda rows: list(map(_read_role, rows)),
    )


def handler_names() -> Statement[list[str]]:
    """List the names of the declared handlers."""
    return Statement(
        query="select name from rolecall.handlers order by name", read=lambda rows: [name for (name,) in rows]
    )


def _read_role(row: Row) -> DeclaredRole:
    name, description, lease, timeout, max_attempts, retry, *rest = row
    return DeclaredRole(name, description, lease, timeout, max_attempts, from_json(retry), *rest)


def _read_attempts(rows: list[Row]) -> dict[int, list[Attempt]]:
    found: dict[int, list[Attempt]] = {}
    for task_id, *columns in rows:
        found.setdefault(task_id, []).append(Attempt(*columns))
    return found


def _read_workers(rows: list[Row]) -> list[RegisteredWorker]:
    named = [dict(zip(RegisteredWorker.__slots__, row, strict=True)) for row in rows]
    return msgspec.convert(named, WORKERS)


def find_names(kinds: Sequence[NameKind], text: str, limit: int) -> Statement[list[FoundName]]:
    """Find up to `limit` names of each kind that contain a text."""
    return Statement(
        query="select kind, id, name from rolecall.find_names(%s::text[], %s::text, %s::int)",
        params=(list(kinds), text, limit),
        read=lambda rows: list(starmap(FoundName, rows)),
    )
