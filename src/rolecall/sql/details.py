"""Typed calls for a task's page. They read large values only on request."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import starmap

from rolecall.model.errors import TaskNotFound
from rolecall.model.operator.details import Document, Maker, NeedOutcome
from rolecall.model.operator.insight import TimelineEntry
from rolecall.model.states import TaskState
from rolecall.model.tasks import TaskSummary
from rolecall.sql.encoding import read_result
from rolecall.sql.insight import TIMELINE_COLUMNS
from rolecall.sql.statement import Row, Statement, from_json
from rolecall.sql.tasks import SUMMARY_COLUMNS, read_summary

Read = tuple[datetime, TaskSummary, Document, Document | None]


def task(task_id: int, most: int) -> Statement[Read]:
    """Read the time, a task, and its payload and result if they have at most `most` bytes. Raises TaskNotFound."""

    def read(rows: list[Row]) -> Read:
        if not rows:
            raise TaskNotFound(task_id=task_id)
        at, *summary, payload_size, payload, result_size, result = rows[0]
        outcome = None if result_size is None else Document(result_size, read_result(result), left_out=result is None)
        return at, read_summary(tuple(summary)), _document(payload_size, payload), outcome

    return Statement(
        query=(
            f"select rolecall.clock(), {SUMMARY_COLUMNS},"
            " octet_length(given.payload), case when octet_length(given.payload) <= %s::int then given.payload end,"
            " octet_length(made.result), case when octet_length(made.result) <= %s::int then made.result end"
            " from rolecall.all_tasks as task"
            # The offsets keep Postgres from converting each value to text more than once.
            " cross join lateral (select task.payload::text offset 0) as given (payload)"
            " cross join lateral (select task.result::text offset 0) as made (result)"
            " where task.id = %s::bigint"
        ),
        params=(most, most, task_id),
        read=read,
    )


def maker(task_id: int) -> Statement[Maker | None]:
    """Find the schedule that enqueued a task, if any."""
    return Statement(
        query=(
            "select schedule.id, schedule.name from rolecall.schedule_runs as run"
            " join rolecall.schedules as schedule on schedule.id = run.schedule_id"
            " where run.task_id = %s::bigint and run.outcome = 'enqueued' limit 1"
        ),
        params=(task_id,),
        read=lambda rows: Maker(*rows[0]) if rows else None,
    )


def needs(task_id: int, most: int) -> Statement[list[NeedOutcome]]:
    """List the first `most` needs of a task with their outcomes, in the order of declaration, without results."""

    def read(rows: list[Row]) -> list[NeedOutcome]:
        return [
            NeedOutcome(name, needed_id, chain, outcome and TaskState(outcome), handler, error)
            for name, needed_id, chain, outcome, handler, error in rows
        ]

    return Statement(
        query="select name, needed_id, whole_chain, outcome::text, handler, error "
        "from rolecall.needs_of(%s::bigint) limit %s::int",
        params=(task_id, most),
        read=read,
    )


def latest(task_id: int, most: int) -> Statement[list[TimelineEntry]]:
    """List the last `most` events of a task, oldest first."""
    return Statement(
        query=(
            f"select {TIMELINE_COLUMNS} from ("
            " select row_number() over () as turn, * from rolecall.timeline(%s::bigint)"
            " order by turn desc limit %s::int"
            ") as latest order by turn"
        ),
        params=(task_id, most),
        read=lambda rows: list(starmap(TimelineEntry, rows)),
    )


def children(parent_id: int, after: int | None, most: int) -> Statement[list[TaskSummary]]:
    """List up to `most` of a task's children in the order of spawning, after one of them."""
    return Statement(
        query=(
            f"select {SUMMARY_COLUMNS} from rolecall.children_in_order(%s::bigint, %s::bigint, %s::int) as given (id)"
            # By id, one at a time: a join would read all tasks.
            " cross join lateral (select * from rolecall.all_tasks as one where one.id = given.id offset 0) as task"
            " order by task.id"
        ),
        params=(parent_id, after, most),
        read=lambda rows: list(map(read_summary, rows)),
    )


def child_numbers(parent_id: int) -> Statement[dict[TaskState, int]]:
    """Count a task's children by state."""
    return Statement(
        query="select state::text, number from rolecall.count_children(%s::bigint)",
        params=(parent_id,),
        read=lambda rows: {TaskState(state): number for state, number in rows},
    )


def parents_among(ids: Sequence[int]) -> Statement[frozenset[int]]:
    """Return those of these tasks that have children."""
    return Statement(
        query="select rolecall.parents_among(%s::bigint[])",
        params=(list(ids),),
        read=lambda rows: frozenset(found for (found,) in rows),
    )


def _document(size: int, text: str | None) -> Document:
    return Document(size, from_json(text), left_out=text is None)
