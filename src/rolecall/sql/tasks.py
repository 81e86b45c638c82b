"""Typed calls for tasks: cancel, retry, delete, read."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rolecall.model.errors import TaskNotFound
from rolecall.model.states import TaskState
from rolecall.model.tasks import Task, TaskSummary
from rolecall.sql.encoding import read_result
from rolecall.sql.events import DELETED, ENDS, RETRIED
from rolecall.sql.statement import (
    Readers,
    Row,
    Statement,
    columns_of,
    firsts,
    from_json,
    reader_of,
    single,
)
from rolecall.telemetry import EventType

MOST_KINDS = 12

READERS: Readers = {"state": TaskState, "info": from_json, "payload": from_json, "result": read_result}
SUMMARY_COLUMNS = columns_of(TaskSummary, READERS, "task")
TASK_COLUMNS = columns_of(Task, READERS)

read_summary = reader_of(TaskSummary, READERS)
read_task = reader_of(Task, READERS)


def cancel(ids: Iterable[int]) -> Statement[dict[int, str]]:
    """Cancel tasks; the outcome of each is cancelled, requested (it is running), finished or missing."""
    return _about_ids("cancel", ids, ENDS)


def retry(ids: Iterable[int], delays: Sequence[float] | None = None) -> Statement[dict[int, str]]:
    """Retry failed and cancelled tasks, now or each after its delay in seconds.

    The outcome of each is pending, open, completed, duplicate or missing.
    """
    return Statement(
        query="select task_id, outcome from rolecall.retry(%s::bigint[], %s::float8[])",
        params=(list(ids), None if delays is None else list(delays)),
        read=dict,
        event_kinds=RETRIED,
    )


def handlers_of(ids: Sequence[int]) -> Statement[dict[int, str]]:
    """Return the handlers of these tasks, by id."""
    return Statement(
        query="select task.id, task.handler from unnest(%s::bigint[]) as given (id)"
        " cross join lateral (select * from rolecall.all_tasks as one where one.id = given.id offset 0) as task",
        params=(list(ids),),
        read=dict,
    )


def kinds(ids: Sequence[int]) -> Statement[list[dict[str, Any]]]:
    """Count these tasks by role, handler and state. Only the most frequent groups are returned."""
    return _kinds("unnest(%s::bigint[])", ids)


def kinds_of_chains(chain_ids: Sequence[int]) -> Statement[list[dict[str, Any]]]:
    """Count the tasks of these chains by role, handler and state, as in `kinds`."""
    return _kinds("unnest(%s::bigint[]) as chain (id) cross join lateral rolecall.tasks_of_chain(chain.id)", chain_ids)


def delete(ids: Iterable[int]) -> Statement[dict[int, str]]:
    """Delete tasks with their chains and descendants; the outcome of each is deleted, continued, needed or
    missing.
    """
    return _about_ids("delete_tasks", ids, DELETED)


def delete_one(task_id: int) -> Statement[int]:
    """Delete a task that is the only one of its chain; returns the number of tasks that were deleted with it.

    Raises TaskNotFound, ChainLonger and ChainNeeded.
    """
    return Statement(
        query="select rolecall.delete_task(%s::bigint)", params=(task_id,), read=single, event_kinds=DELETED
    )


def _kinds(given: str, ids: Sequence[int]) -> Statement[list[dict[str, Any]]]:
    return Statement(
        query=f"select task.role, task.handler, task.state::text, count(*) from {given} as given (id)"
        # By id, one at a time: a join might read all tasks.
        " cross join lateral (select * from rolecall.all_tasks as one where one.id = given.id offset 0) as task"
        " group by 1, 2, 3 order by 4 desc, 1, 2, 3 limit %s::int",
        params=(list(ids), MOST_KINDS),
        read=lambda rows: [dict(zip(("role", "handler", "state", "tasks"), row, strict=True)) for row in rows],
    )


def not_open_among(ids: Sequence[int]) -> Statement[list[int]]:
    """Find those of these tasks that are not open: finished ones, and ids without a task."""
    # By id, one at a time: a join might read all tasks.
    return Statement(
        query="select given.id from unnest(%s::bigint[]) as given (id)"
        " where (select true from rolecall.tasks as task where task.id = given.id) is null",
        params=(list(ids),),
        read=firsts,
    )


def get(task_id: int) -> Statement[Task]:
    """Read one task, open or finished. Reading the rows raises TaskNotFound if there is none."""

    def read(rows: list[Row]) -> Task:
        if not rows:
            raise TaskNotFound(task_id=task_id)
        return read_task(rows[0])

    return Statement(
        query=f"select {TASK_COLUMNS} from rolecall.all_tasks where id = %s::bigint",
        params=(task_id,),
        read=read,
    )


def _about_ids(verb: str, ids: Iterable[int], event_kinds: frozenset[EventType]) -> Statement[dict[int, str]]:
    return Statement(
        query=f"select task_id, outcome from rolecall.{verb}(%s::bigint[])",
        params=(list(ids),),
        read=dict,
        event_kinds=event_kinds,
    )
