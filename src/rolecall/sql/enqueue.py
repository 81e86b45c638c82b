"""Typed calls that store tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rolecall.model.errors import InvalidTask
from rolecall.model.reading import ReadsResult
from rolecall.model.tasks import Enqueued, NewTask
from rolecall.sql.documents import tasks_document
from rolecall.sql.events import STORED
from rolecall.sql.statement import Row, Statement

CHUNK = 20_000


def enqueue_many(
    tasks: Sequence[NewTask], trace_context: str | None = None, *, is_confidential: bool = False
) -> Statement[list[Enqueued]]:
    """Store a batch, all or nothing, with this trace context. Results are in the order of the tasks."""
    return Statement(
        query="select ids, deduplicated from rolecall.enqueue_many(%s::jsonb)",
        params=(tasks_document(tasks, trace_context),),
        read=lambda rows: _read_enqueued(rows, tasks),
        event_kinds=STORED,
        is_confidential=is_confidential,
    )


def enqueue_chunks(
    tasks: Sequence[NewTask],
    *,
    size: int = CHUNK,
    trace_context: str | None = None,
    is_confidential: bool = False,
) -> list[Statement[list[Enqueued]]]:
    """Store a batch of any length in several statements. Run them in one transaction.

    All tasks are checked before the first statement is returned, so that nothing of an invalid batch is sent.
    """
    return [
        _chunk(tasks, slice(start, start + size), trace_context, is_confidential=is_confidential)
        for start in range(0, len(tasks), size)
    ]


def _chunk(
    tasks: Sequence[NewTask], part: slice, trace_context: str | None, *, is_confidential: bool
) -> Statement[list[Enqueued]]:
    try:
        return enqueue_many(tasks[part], trace_context, is_confidential=is_confidential)
    except InvalidTask as error:
        raise error.moved_by(part.start) from error


def _read_enqueued(rows: list[Row], tasks: Sequence[NewTask]) -> list[Enqueued]:
    ids, deduplicated = rows[0]
    returns = [task.returns for task in tasks]
    if not deduplicated:
        return [Enqueued(task_id).reading(reader) for task_id, reader in zip(ids, returns, strict=True)]
    # If a dedupe key occurs twice in a batch, the first task was stored, unless the key existed before: then both are
    # duplicates.
    new: Counter[int] = Counter(ids) - Counter(deduplicated)
    return [_take(new, task_id, reader) for task_id, reader in zip(ids, returns, strict=True)]


def _take(new: Counter[int], task_id: int, returns: ReadsResult | None) -> Enqueued:
    new[task_id] -= 1
    return Enqueued(task_id, new[task_id] < 0).reading(returns)
