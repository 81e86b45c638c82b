"""Typed calls for tasks with an owner and a title."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

from rolecall.model.errors import InvalidTask
from rolecall.model.operator.owned import OwnedFilter, OwnedTask
from rolecall.model.tasks import NewTask
from rolecall.sql.encoding import NotStorable, encode
from rolecall.sql.enqueue import tasks_document
from rolecall.sql.payload_sizes import check_batch
from rolecall.sql.statement import Readers, Statement, columns_of, from_json, reader_of, single

READERS: Readers = {"payload": from_json}
COLUMNS = columns_of(OwnedTask, READERS)
read_owned = reader_of(OwnedTask, READERS)


def enqueue(task: NewTask, owner: str, title: str) -> Statement[int]:
    """Store one task with its owner and title. Raises InvalidTask."""
    try:
        encode(title)
    except NotStorable as error:
        raise InvalidTask(f"the title cannot be stored: {error}") from error
    document = tasks_document([task])
    return Statement(
        query="select rolecall.enqueue_owned(%s::jsonb -> 0, %s::text, %s::text)",
        params=(document, owner, title),
        read=single,
        check=check_batch(document),
    )


def tasks(which: OwnedFilter) -> Statement[list[OwnedTask]]:
    """List an owner's tasks, open and finished, newest first."""
    statuses = None if which.statuses is None else list(which.statuses)
    return Statement(
        query=f"select {COLUMNS} from rolecall.owned_tasks("
        "%s::text, %s::bigint, %s::text, %s::text[], %s::int, %s::int)",
        params=(which.owner, which.id, which.text, statuses, which.skip, which.limit),
        read=lambda rows: list(map(read_owned, rows)),
    )


def owner_of(task_id: int) -> Statement[str | None]:
    """Return the owner of a task; None if it has none or was deleted."""
    return Statement(
        query="select owner from rolecall.task_owners where task_id = %s::bigint",
        params=(task_id,),
        read=lambda rows: rows[0][0] if rows else None,
    )
