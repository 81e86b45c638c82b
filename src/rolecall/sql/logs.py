"""Typed calls for the log lines of attempts, and for the stacks of running handlers."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import starmap
from time import time
from typing import Any

from rolecall.model.errors import InvalidCursor
from rolecall.model.operator.logs import NUMBERS, HandlerStack, LogFilter, LogLine
from rolecall.model.operator.pages import Page, read_text_cursor, write_text_cursor
from rolecall.sql.encoding import encode
from rolecall.sql.statement import Row, Statement, columns_of, firsts, single

COLUMNS = columns_of(LogLine, {})
STACK_COLUMNS = columns_of(HandlerStack, {})
STACK = "rolecall.stack"


def write(parts: Sequence[dict[str, Any]]) -> Statement[None]:
    """Store parts of the logs of attempts. It can be repeated."""
    return Statement(query="select rolecall.write_logs(%s::jsonb)::text", params=(encode(parts),), read=single)


def lines(task_id: int, which: LogFilter) -> Statement[Page[LogLine]]:
    """Read lines, oldest first. Raises InvalidCursor.

    The last page has a cursor as well, because a running task may log more lines. An empty page has the cursor of its
    query.
    """

    def read(rows: list[Row]) -> Page[LogLine]:
        found = list(starmap(LogLine, rows))
        return Page(items=found, next_cursor=_cursor_after(found[-1]) if found else which.cursor)

    after = (None, None) if which.cursor is None else _position(which.cursor)
    call = "rolecall.find_log_lines(%s::bigint, %s::jsonb, %s::int, %s::int, %s::int, %s::boolean)"
    return Statement(
        query=f"select {COLUMNS} from {call}",
        params=(task_id, encode(which.conditions()), *after, which.limit, which.last),
        read=read,
    )


def request_stack(task_id: int) -> Statement[str]:
    """Ask the worker of a task for its handler's stack; returns requested, not_running or missing."""
    return Statement(query="select rolecall.request_stack(%s::bigint)", params=(task_id,), read=single)


def requested_stacks(claims: Mapping[int, int]) -> Statement[list[int]]:
    """Find the tasks whose stack is requested, among a worker's claims: fences by task id."""
    return Statement(
        query="select task_id from rolecall.requested_stacks(%s::bigint[], %s::int[])",
        params=(list(claims), list(claims.values())),
        read=firsts,
    )


def answer_stack(task_id: int, fence: int, attempt: int, stack: str) -> Statement[None]:
    """Store the requested stack of a handler."""
    line = [0, time(), NUMBERS["info"], STACK, stack]
    return write([{"task_id": task_id, "fence": fence, "attempt": attempt, "part": 0, "lines": [line]}])


def latest_stack(task_id: int) -> Statement[HandlerStack | None]:
    """Read the latest stack that somebody requested; None if nobody did."""
    return Statement(
        query=f"select {STACK_COLUMNS} from rolecall.latest_stack(%s::bigint)",
        params=(task_id,),
        read=lambda rows: HandlerStack(*rows[0]) if rows else None,
    )


def _cursor_after(line: LogLine) -> str:
    return write_text_cursor(f"{line.fence} {line.number}")


def _position(cursor: str) -> tuple[int, int]:
    try:
        fence, number = read_text_cursor(cursor).split(" ")
        return int(fence), int(number)
    except ValueError:
        raise InvalidCursor(cursor) from None
