"""Typed calls for error groups: list, read, change their state, and add new failures to them."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from datetime import datetime

from rolecall.model.errors import ErrorGroupNotFound, FilterError, InvalidCursor
from rolecall.model.operator.error_groups import ErrorGroup, ErrorGroupDetail, ErrorGroupFilter, ErrorState
from rolecall.model.operator.pages import Page, read_text_cursor, write_text_cursor
from rolecall.sql.encoding import NotStorable, encode
from rolecall.sql.statement import Row, Statement, columns_of, reader_of, single

FOUND = "rolecall.find_error_groups(%s::jsonb, %s::timestamptz, %s::bigint, %s::int) as found"
COLUMNS = columns_of(ErrorGroup, {}, "found")

_read_group = reader_of(ErrorGroup, {})
_read_detail = reader_of(ErrorGroupDetail, {})


def list_(which: ErrorGroupFilter) -> Statement[Page[ErrorGroup]]:
    """List error groups, those with the latest failures first. Raises InvalidCursor."""

    def read(rows: list[Row]) -> Page[ErrorGroup]:
        groups = list(map(_read_group, rows[: which.limit]))
        more = len(rows) > which.limit
        return Page(items=groups, next_cursor=_cursor_after(groups[-1]) if more else None)

    after = (None, None) if which.cursor is None else _position(which.cursor)
    try:
        conditions = encode(which.conditions())
    except NotStorable as error:
        raise FilterError(str(error)) from error
    return Statement(query=f"select {COLUMNS} from {FOUND}", params=(conditions, *after, which.limit + 1), read=read)


def get(group_id: int) -> Statement[ErrorGroupDetail]:
    """Read one error group. Reading the rows raises ErrorGroupNotFound if there is none."""

    def read(rows: list[Row]) -> ErrorGroupDetail:
        if not rows:
            raise ErrorGroupNotFound(group_id=group_id)
        return _read_detail(rows[0])

    return Statement(
        query=f"select {COLUMNS}, now.* from {FOUND} cross join lateral rolecall.failures_of_group(found.id) as now",
        params=(encode({"ids": [group_id]}), None, None, 1),
        read=read,
    )


def mark(group_id: int, state: ErrorState) -> Statement[ErrorState | None]:
    """Change the state of an error group; returns the earlier one, None if there is no such group."""
    return Statement(
        query="select rolecall.mark_error_group(%s::bigint, %s::text)", params=(group_id, state), read=single
    )


def group_failures() -> Statement[bool]:
    """Add new failures to their groups; returns whether there may be more."""
    return Statement(query="select rolecall.group_failures()", read=single)


def _cursor_after(group: ErrorGroup) -> str:
    return write_text_cursor(f"{group.last_at.isoformat()} {group.id}")


def _position(cursor: str) -> tuple[datetime, int]:
    try:
        moment, group_id = read_text_cursor(cursor).split(" ")
        return datetime.fromisoformat(moment), int(group_id)
    except ValueError:
        raise InvalidCursor(cursor) from None
