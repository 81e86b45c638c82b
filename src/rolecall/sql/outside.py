"""Typed calls that finish or trigger tasks without a worker."""

# ruff: noqa: S608 - only statements of this module are built into a query
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from rolecall.model.error_text import clean_error
from rolecall.model.errors import InvalidTask
from rolecall.model.tasks import NextTasks
from rolecall.sql.encoding import MAX_RESULT_BYTES, NotStorable, encode
from rolecall.sql.enqueue import next_document
from rolecall.sql.events import ENDS, TRIGGERED
from rolecall.sql.payload_sizes import check_next
from rolecall.sql.statement import Statement, single

TOKEN_TTL = 7 * 86400.0


def complete(task_id: int, result: object = None, next_tasks: NextTasks | None = None) -> Statement[str]:
    """Complete a task in any open state; returns completed, finished or missing."""
    document = optional_next_document(next_tasks)
    return Statement(
        query="select rolecall.complete_task(%s::bigint, %s::jsonb, %s::jsonb)",
        params=(task_id, result_document(result), document),
        check=check_next(document),
        read=single,
        event_kinds=ENDS,
    )


def fail(task_id: int, error: str) -> Statement[str]:
    """Fail a task in any open state, without a retry; returns failed, finished or missing."""
    return Statement(
        query="select rolecall.fail_task(%s::bigint, %s::text)",
        params=(task_id, clean_error(error)),
        read=single,
        event_kinds=ENDS,
    )


def issue_token(task_id: int, ttl: float) -> Statement[str]:
    """Create a completion token that is valid for `ttl` seconds. Raises TaskNotFound and InvalidTask."""
    return Statement(
        query="select rolecall.issue_token(%s::bigint, make_interval(secs => %s::float8))",
        params=(task_id, ttl),
        read=single,
    )


def complete_by_token(token: str, result: object = None, next_tasks: NextTasks | None = None) -> Statement[int]:
    """Complete the token's task and return its id. Raises InvalidToken."""
    document = optional_next_document(next_tasks)
    return Statement(
        query="select rolecall.complete_by_token(%s::text, %s::jsonb, %s::jsonb)",
        params=(token, result_document(result), document),
        check=check_next(document),
        read=single,
        event_kinds=ENDS,
    )


def fail_by_token(token: str, error: str) -> Statement[int]:
    """Fail the token's task and return its id. Raises InvalidToken."""
    return Statement(
        query="select rolecall.fail_by_token(%s::text, %s::text)",
        params=(token, clean_error(error)),
        read=single,
        event_kinds=ENDS,
    )


def noted(statement: Statement[str], task_id: int, kind: str, actor: str) -> Statement[str]:
    """Return a statement about a task that also records who completed or failed it."""
    query = f"select rolecall.note_act(%s::bigint, %s::text, %s::text, ({statement.query}))"
    return replace(statement, query=query, params=(task_id, kind, actor, *statement.params))


def trigger(ids: Iterable[int], actor: str | None = None) -> Statement[dict[int, datetime]]:
    """Make pending tasks due now, all or none, and record who did. Returns since when each is due, in the order of the
    ids.
    """
    noted = " cross join lateral rolecall.note_act(due.task_id, 'trigger', %s::text, 'triggered')" if actor else ""
    return Statement(
        query=f"select due.task_id, due.scheduled_for from rolecall.trigger(%s::bigint[]) as due{noted}",
        params=(list(ids), actor) if actor else (list(ids),),
        read=dict,
        event_kinds=TRIGGERED,
    )


def result_document(result: object) -> str | None:
    """Encode a result as JSON text. Raises InvalidTask if the database cannot store it."""
    if result is None:
        return None
    try:
        text = encode(result)
    except NotStorable as error:
        raise InvalidTask(f"result: {error}") from error
    size = len(text.encode())
    if size > MAX_RESULT_BYTES:
        raise InvalidTask(f"result: {size} bytes exceed the limit of {MAX_RESULT_BYTES}")
    return text


def optional_next_document(next_tasks: NextTasks | None) -> str | None:
    """Encode the next tasks as JSON text; None for none. Raises InvalidTask if one cannot be stored."""
    return None if next_tasks is None else next_document(next_tasks)
