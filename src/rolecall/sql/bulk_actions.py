"""Typed calls for bulk actions: count their tasks, store, read, stop and work them off; and for acts of people."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from collections.abc import Sequence

from rolecall.model.errors import BulkActionNotFound, FilterError
from rolecall.model.operator.bulk import BulkCount, StoredBulkAction
from rolecall.model.operator.insight import BulkAction, TaskFilter
from rolecall.sql.encoding import NotStorable, encode
from rolecall.sql.events import DELETED, ENDS, RETRIED
from rolecall.sql.statement import Readers, Row, Statement, columns_of, from_json, reader_of, single

READERS: Readers = {"filter": from_json, "outcomes": from_json}
COLUMNS = columns_of(StoredBulkAction, READERS)
EVENT_KINDS = {"retry": RETRIED, "cancel": ENDS, "delete": DELETED}

_read_action = reader_of(StoredBulkAction, READERS)


def count(action: BulkAction, which: TaskFilter, before: int | None) -> Statement[tuple[list[BulkCount], int | None]]:
    """Count a page of the tasks that an action would change; returns the counts and where the next page begins."""
    return Statement(
        query=(
            "select reached, role, handler, error_group, number"
            " from rolecall.count_for_action(%s::text, %s::jsonb, %s::bigint)"
        ),
        params=(action, _filter_document(which), before),
        read=lambda rows: ([BulkCount(*row[1:]) for row in rows if row[1] is not None], rows[0][0]),
    )


def start(
    action: BulkAction, which: TaskFilter, actor: str, total: int | None, rate: float | None, delay: float
) -> Statement[int]:
    """Store a bulk action and return its id."""
    return Statement(
        query=("select rolecall.start_bulk_action(%s::text, %s::jsonb, %s::text, %s::bigint, %s::float8, %s::float8)"),
        params=(action, _filter_document(which), actor, total, rate, delay),
        read=single,
    )


def stop(bulk_action_id: int, actor: str) -> Statement[str | None]:
    """Stop a bulk action; returns its state before, None if there is none."""
    return Statement(
        query="select rolecall.stop_bulk_action(%s::bigint, %s::text)", params=(bulk_action_id, actor), read=single
    )


def get(bulk_action_id: int) -> Statement[StoredBulkAction]:
    """Read one bulk action. Reading the rows raises BulkActionNotFound if there is none."""

    def read(rows: list[Row]) -> StoredBulkAction:
        if not rows:
            raise BulkActionNotFound(bulk_action_id=bulk_action_id)
        return _read_action(rows[0])

    return Statement(
        query=f"select {COLUMNS} from rolecall.bulk_actions where id = %s::bigint", params=(bulk_action_id,), read=read
    )


def list_(before: int | None, limit: int) -> Statement[Sequence[StoredBulkAction]]:
    """List bulk actions, newest first, from the one before an id on."""
    return Statement(
        query=(
            f"select {COLUMNS} from rolecall.bulk_actions where id < coalesce(%s::bigint, 9007199254740992)"
            " order by id desc limit %s::int"
        ),
        params=(before, limit),
        read=lambda rows: list(map(_read_action, rows)),
    )


def read_many(ids: Sequence[int]) -> Statement[dict[int, StoredBulkAction]]:
    """Read bulk actions by id, without those that do not exist."""
    return Statement(
        query=f"select {COLUMNS} from rolecall.bulk_actions where id = any(%s::bigint[])",
        params=(list(ids),),
        read=lambda rows: {action.id: action for action in map(_read_action, rows)},
    )


def work_off() -> Statement[tuple[bool, str | None]]:
    """Work off a batch of a bulk action; returns whether another one may be due now, and why this one failed."""
    return Statement(
        query="select is_more_due, problem from rolecall.work_off_bulk_action()",
        read=lambda rows: rows[0] if rows else (False, None),
        event_kinds=RETRIED | DELETED,
    )


def act(
    action: BulkAction, ids: Sequence[int], actor: str, delays: Sequence[float] | None = None
) -> Statement[dict[int, str]]:
    """Retry, cancel or delete tasks for a person, with the outcomes of sql.tasks; also "refused" for a retry."""
    return Statement(
        query=(
            "select task_id, outcome from rolecall.act_on_tasks("
            "%s::text, %s::bigint[], %s::text, p_delays => %s::float8[])"
        ),
        params=(action, list(ids), actor, None if delays is None else list(delays)),
        read=dict,
        event_kinds=EVENT_KINDS[action],
    )


def _filter_document(which: TaskFilter) -> str:
    try:
        return encode(which.conditions())
    except NotStorable as error:
        raise FilterError(str(error)) from error
