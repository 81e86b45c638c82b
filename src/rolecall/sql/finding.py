"""Typed calls that search for tasks, page by page."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from datetime import datetime

from rolecall.model.errors import FilterError
from rolecall.model.operator.insight import TaskFilter
from rolecall.model.operator.pages import Page, position, write_cursor
from rolecall.model.tasks import TaskSummary
from rolecall.sql.encoding import NotStorable, encode
from rolecall.sql.statement import Row, Statement, single
from rolecall.sql.tasks import SUMMARY_COLUMNS, read_summary

FOUND = "rolecall.find_tasks(%s::jsonb, %s::bigint, %s::int) as found"


def tasks(which: TaskFilter) -> Statement[Page[TaskSummary]]:
    """List tasks, open and finished, newest first. Raises InvalidCursor."""

    def read(rows: list[Row]) -> Page[TaskSummary]:
        items = [read_summary(row[1:]) for row in rows if row[1] is not None]
        return Page(items=items, next_cursor=_cursor(rows[0][0]))

    return Statement(
        query=(
            f"select found.reached, {SUMMARY_COLUMNS} from {FOUND} left join lateral ("
            # By id, one at a time: a join would read all tasks.
            " select page.* from unnest(found.ids) as given (id)"
            " cross join lateral (select * from rolecall.all_tasks as one where one.id = given.id offset 0) as page"
            ") as task on true order by task.id desc"
        ),
        params=_params(which),
        read=read,
    )


def ids(which: TaskFilter) -> Statement[tuple[list[int], str | None]]:
    """Find the ids of a page of tasks, newest first, and the cursor of the next one. Raises InvalidCursor."""
    return Statement(
        query=f"select found.ids, found.reached from {FOUND}",
        params=_params(which),
        read=lambda rows: (rows[0][0], _cursor(rows[0][1])),
    )


def created_from(cursor: str) -> Statement[datetime | None]:
    """Read when the oldest task on the pages before a cursor was created; None without one. Raises InvalidCursor."""
    return Statement(
        query=(
            "select least("
            + ", ".join(
                f"(select created_at from rolecall.{table} where id >= given.id order by id limit 1)"
                for table in ("tasks", "finished_tasks")
            )
            + ") from (select %s::bigint as id) as given"
        ),
        params=(position(cursor),),
        read=single,
    )


def _params(which: TaskFilter) -> tuple[object, ...]:
    after = position(which.cursor)
    try:
        return encode(which.conditions()), after, which.limit
    except NotStorable as error:
        raise FilterError(str(error)) from error


def _cursor(reached: int | None) -> str | None:
    return None if reached is None else write_cursor(reached)
