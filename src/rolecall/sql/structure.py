"""Typed calls for the relations of tasks: children, needs, trees."""

from __future__ import annotations

from collections.abc import Sequence

from rolecall.model.states import TaskState
from rolecall.model.tasks import Child, Enqueued, Needed, NewTask, TreeNode
from rolecall.sql.encoding import read_result
from rolecall.sql.enqueue import tasks_document
from rolecall.sql.events import STORED
from rolecall.sql.payload_sizes import check_batch
from rolecall.sql.statement import Row, Statement, from_json, single


def children(parent_id: int) -> Statement[list[Child]]:
    """List the children that a task spawned last, in order, with their outcomes."""
    return Statement(
        query="select id, handler, state::text, payload::text, result::text, info::text, error "
        "from rolecall.children_of(%s::bigint)",
        params=(parent_id,),
        read=lambda rows: list(map(_read_child, rows)),
    )


def needs(task_id: int) -> Statement[list[Needed]]:
    """List all needs of a task with their outcomes, in the order of declaration."""
    return Statement(
        query="select name, needed_id, whole_chain, outcome::text, handler, result::text, error "
        "from rolecall.needs_of(%s::bigint)",
        params=(task_id,),
        read=lambda rows: list(map(_read_needed, rows)),
    )


def failed_siblings(task_id: int) -> Statement[int]:
    """Count the children of the same parent that did not complete."""
    return Statement(query="select rolecall.failed_siblings(%s::bigint)", params=(task_id,), read=single)


def tree(root_id: int) -> Statement[list[TreeNode]]:
    """Read a task and everything below it; empty if there is no such task."""
    return Statement(
        query="select id, parent_id, depth, handler, state::text, info::text, error, started_at, finished_at "
        "from rolecall.tree(%s::bigint)",
        params=(root_id,),
        read=lambda rows: list(map(_read_node, rows)),
    )


def traces_of(ids: Sequence[int]) -> Statement[dict[int, list[tuple[str, str]]]]:
    """Read the trace contexts of claimed tasks and of their origins: by task, pairs of relation and trace context."""
    return Statement(
        query="select task_id, relation, trace_context from rolecall.traces_of(%s::bigint[])",
        params=(list(ids),),
        read=_read_traces,
    )


def spawn(parent_id: int, tasks: Sequence[NewTask], *, serial: bool | None = None) -> Statement[list[Enqueued]]:
    """Add children to a running or waiting task."""
    document = tasks_document(tasks)
    return Statement(
        query="select rolecall.spawn(%s::bigint, %s::jsonb, %s::boolean)",
        params=(parent_id, document, serial),
        check=check_batch(document),
        read=lambda rows: list(map(Enqueued, rows[0][0])),
        event_kinds=STORED,
    )


def _read_traces(rows: list[Row]) -> dict[int, list[tuple[str, str]]]:
    traces: dict[int, list[tuple[str, str]]] = {}
    for task_id, relation, context in rows:
        traces.setdefault(task_id, []).append((relation, context))
    return traces


def _read_child(row: Row) -> Child:
    task_id, handler, state, payload, result, info, error = row
    return Child(
        id=task_id,
        handler=handler,
        state=TaskState(state),
        payload=from_json(payload),
        result=read_result(result),
        info=from_json(info),
        error=error,
    )


def _read_needed(row: Row) -> Needed:
    name, task_id, chain, outcome, handler, result, error = row
    return Needed(
        name=name,
        task_id=task_id,
        chain=chain,
        outcome=outcome and TaskState(outcome),
        handler=handler,
        result=read_result(result),
        error=error,
    )


def _read_node(row: Row) -> TreeNode:
    task_id, parent_id, depth, handler, state, info, error, started_at, finished_at = row
    return TreeNode(
        id=task_id,
        parent_id=parent_id,
        depth=depth,
        handler=handler,
        state=TaskState(state),
        info=from_json(info),
        error=error,
        started_at=started_at,
        finished_at=finished_at,
    )
