"""The typed call for changed tasks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rolecall.model.operator.live import Changes, Horizon, TaskChange
from rolecall.model.states import TaskState
from rolecall.sql.statement import Row, Statement

WRAPS = 2**32


def horizon() -> Statement[Horizon]:
    """Return what a query for changes would see now."""
    return Statement(
        query="select at, last_id, snapshot::text, writing::text[], elsewhere::text[] "
        "from rolecall.changes(null, null, 0), rolecall.transactions_elsewhere() as elsewhere",
        read=lambda rows: _read_horizon(rows[0]),
    )


def changes(since: datetime, after_id: int, limit: int) -> Statement[Changes]:
    """Return the tasks that changed since a moment or have a later id; one more than `limit` means that there are
    more.
    """
    return Statement(
        query="select at, last_id, snapshot::text, writing::text[], elsewhere::text[], "
        "id, parent_id, role, state::text, version "
        "from rolecall.changes(%s::timestamptz, %s::bigint, %s::int), rolecall.transactions_elsewhere() as elsewhere",
        params=(since, after_id, limit),
        read=_read_changes,
    )


def _read_changes(rows: list[Row]) -> Changes:
    tasks = [
        TaskChange(task_id, parent_id, role, TaskState(state), version)
        for *_horizon, task_id, parent_id, role, state, version in rows
        if task_id is not None
    ]
    return Changes(_read_horizon(rows[0]), tasks)


def _read_horizon(row: Row) -> Horizon:
    at, last_id, snapshot, writing, elsewhere, *_ = row
    _oldest, next_to_end, older = snapshot.split(":")
    near = int(next_to_end)
    not_ours = _whole(elsewhere, near)
    under_way = frozenset(map(int, filter(None, older.split(",")))) | _whole(writing, near)
    next_xid = max(near, *(xid + 1 for xid in under_way), 0)
    return Horizon(at, last_id, under_way - not_ours, next_xid, not_ours)


def _whole(xids: Sequence[str], near: int) -> frozenset[int]:
    """Complete the lower halves of transaction ids with the help of a nearby id."""
    ahead = [(int(xid) - near) % WRAPS for xid in xids]
    return frozenset(near + steps - (WRAPS if steps >= WRAPS // 2 else 0) for steps in ahead)
