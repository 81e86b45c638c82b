"""Typed calls for chains: read, list, hold, complete, delete."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from rolecall.model.chains import Chain, ChainFilter, ChainNeed, ChainPart, ChainSummary
from rolecall.model.errors import ChainNotFound
from rolecall.model.operator.pages import Page, write_cursor
from rolecall.model.states import TaskState
from rolecall.model.tasks import Dependent, NextTasks, Task
from rolecall.sql.encoding import read_result
from rolecall.sql.events import DELETED, ENDS
from rolecall.sql.outside import optional_next_document, result_document
from rolecall.sql.payload_sizes import check_next
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
from rolecall.sql.tasks import SUMMARY_COLUMNS as PART_COLUMNS
from rolecall.sql.tasks import TASK_COLUMNS, read_summary, read_task

T = TypeVar("T")

READERS: Readers = {"state": TaskState, "payload": from_json, "result": read_result}
SUMMARY_COLUMNS = columns_of(ChainSummary, READERS)
FOUND_COLUMNS = columns_of(ChainSummary, READERS, "chain")
COLUMNS = columns_of(Chain, READERS)
# The stored size in bytes up to which payloads and results are read for a page.
SMALL = 8_192

_read_summary = reader_of(ChainSummary, READERS)
_read_chain = reader_of(Chain, READERS)


def get(chain_id: int) -> Statement[Chain]:
    """Read one chain. Reading the rows raises ChainNotFound if there is none."""
    return _one(chain_id, COLUMNS, _read_chain)


def summary(chain_id: int) -> Statement[ChainSummary]:
    """Read one chain without payload and result. Reading the rows raises ChainNotFound if there is none."""
    return _one(chain_id, SUMMARY_COLUMNS, _read_summary)


def list_(which: ChainFilter) -> Statement[list[Chain]]:
    """List chains, newest first, without a limit on the rows that are searched."""
    return Statement(
        query=f"select {COLUMNS} from rolecall.list_chains(%s::text, %s::text, %s::text, %s::bigint, %s::int)",
        params=_params(which),
        read=lambda rows: list(map(_read_chain, rows)),
    )


def summaries(which: ChainFilter) -> Statement[Page[ChainSummary]]:
    """List chains without payload and result, newest first."""

    def read(rows: list[Row]) -> Page[ChainSummary]:
        items = [_read_summary(row[1:]) for row in rows if row[1] is not None]
        reached = rows[0][0]
        return Page(items=items, next_cursor=None if reached is None else write_cursor(reached))

    return Statement(
        query=(
            f"select found.reached, {FOUND_COLUMNS}"
            " from rolecall.find_chains(%s::text, %s::text, %s::text, %s::bigint, %s::int) as found"
            # By id, one at a time: a join would read all tasks.
            " left join lateral (select page.* from unnest(found.ids) as given (id) cross join lateral"
            "  (select * from rolecall.chains as one where one.id = given.id offset 0) as page"
            " ) as chain on true order by chain.id desc"
        ),
        params=_params(which),
        read=read,
    )


def tasks_of(chain_id: int) -> Statement[list[Task]]:
    """Read the tasks of a chain in order."""
    return Statement(
        query=(
            f"select {TASK_COLUMNS} from rolecall.all_tasks"
            " where (chain_id = %s::bigint and chain_index > 0) or (id = %s::bigint and chain_index = 0)"
            " order by chain_index"
        ),
        params=(chain_id, chain_id),
        read=lambda rows: list(map(read_task, rows)),
    )


def parts(chain_id: int, before: int | None, limit: int) -> Statement[list[ChainPart]]:
    """Read the last tasks of a chain, or the last ones before an index, with their payloads and results if they
    are small.
    """
    return Statement(
        query=(
            f"select {PART_COLUMNS}, case when not large then task.payload::text end,"
            " case when not large then task.result::text end, large"
            " from rolecall.parts_of_chain(%s::bigint, %s::int, %s::int) as part"
            # By id, one at a time: a join would read all tasks.
            " cross join lateral (select * from rolecall.all_tasks as one where one.id = part.id offset 0) as task"
            " cross join lateral ("
            "  select greatest(pg_column_size(task.payload), pg_column_size(task.result)) > %s as large"
            " ) as size order by task.chain_index"
        ),
        params=(chain_id, before, limit, SMALL),
        read=lambda rows: list(map(_read_part, rows)),
    )


def needs(ids: Sequence[int], limit: int) -> Statement[list[ChainNeed]]:
    """List the needs of these tasks."""
    return Statement(
        query="select task_id, name, needed_id, whole_chain, outcome::text, handler "
        "from rolecall.needs_of_tasks(%s::bigint[], %s::int)",
        params=(list(ids), limit),
        read=lambda rows: list(map(_read_need, rows)),
    )


def dependents(chain_id: int, after: int | None, limit: int) -> Statement[list[Dependent]]:
    """List the tasks that need the chain or one of its tasks, by id, after an id if one is given."""
    return Statement(
        query="select task_id, chain_id, role, handler, state::text, name, needed_id, whole_chain, outcome::text "
        "from rolecall.dependents_of(%s::bigint, %s::bigint, %s::int)",
        params=(chain_id, after, limit),
        read=lambda rows: list(map(_read_dependent, rows)),
    )


def not_open_among(ids: Sequence[int]) -> Statement[list[int]]:
    """Find those of these chains that are not open: finished ones, and ids without a chain."""
    # The open task of a chain is its first task or its one open continuation. Each is found by its index.
    return Statement(
        query="select given.id from unnest(%s::bigint[]) as given (id)"
        " where (select true from rolecall.tasks as task where task.id = given.id) is null"
        " and (select true from rolecall.tasks as task"
        " where task.chain_id = given.id and task.chain_index > 0) is null",
        params=(list(ids),),
        read=firsts,
    )


def hold(chain_id: int) -> Statement[int | None]:
    """Lock the chain's open task until the transaction ends; returns its id, or None if the chain has finished."""
    return Statement(query="select rolecall.hold_chain(%s::bigint)", params=(chain_id,), read=single)


def complete(chain_id: int, result: object = None, next_tasks: NextTasks | None = None) -> Statement[str]:
    """Complete the chain's open task without a worker; returns completed, finished or missing."""
    document = optional_next_document(next_tasks)
    return Statement(
        query="select rolecall.complete_chain(%s::bigint, %s::jsonb, %s::jsonb)",
        params=(chain_id, result_document(result), document),
        check=check_next(document),
        read=single,
        event_kinds=ENDS,
    )


def delete(ids: Iterable[int], *, cascade: bool = False) -> Statement[dict[int, int]]:
    """Delete chains; returns the deleted ones with the number of their tasks."""
    return Statement(
        query="select chain_id, tasks from rolecall.delete_chains(%s::bigint[], %s::boolean)",
        params=(list(ids), cascade),
        read=dict,
        event_kinds=DELETED,
    )


def _one(chain_id: int, columns: str, read: Callable[[Row], T]) -> Statement[T]:
    def read_only(rows: list[Row]) -> T:
        if not rows:
            raise ChainNotFound(chain_id=chain_id)
        return read(rows[0])

    query = f"select {columns} from rolecall.chains where id = %s::bigint"
    return Statement(query=query, params=(chain_id,), read=read_only)


def _params(which: ChainFilter) -> tuple[object, ...]:
    return (which.state, which.role, which.handler, which.before, which.limit)


def _read_part(row: Row) -> ChainPart:
    payload, result = map(from_json, row[-3:-1])
    return ChainPart(task=read_summary(row[:-3]), payload=payload, result=result, large=row[-1])


def _read_need(row: Row) -> ChainNeed:
    task_id, name, needed_id, chain, outcome, handler = row
    return ChainNeed(
        task_id=task_id,
        name=name,
        needed_id=needed_id,
        chain=chain,
        outcome=outcome and TaskState(outcome),
        handler=handler,
    )


def _read_dependent(row: Row) -> Dependent:
    task_id, chain_id, role, handler, state, name, needed_id, chain, outcome = row
    return Dependent(
        task_id=task_id,
        chain_id=chain_id,
        role=role,
        handler=handler,
        state=TaskState(state),
        name=name,
        needed_id=needed_id,
        chain=chain,
        outcome=outcome and TaskState(outcome),
    )
