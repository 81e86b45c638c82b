"""Typed calls that store tasks, and the JSON documents of tasks that they send."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any

from rolecall.model.dedupe import Dedupe
from rolecall.model.durations import Duration, in_seconds
from rolecall.model.errors import InvalidTask
from rolecall.model.reading import ReadsResult
from rolecall.model.retry import RetryPolicy
from rolecall.model.tasks import Enqueued, Need, NewTask, NextTasks
from rolecall.sql.encoding import NotStorable, encode
from rolecall.sql.events import STORED
from rolecall.sql.payload_sizes import CHECKED_FROM, check_batch
from rolecall.sql.statement import Row, Statement

CHUNK = 20_000
# The fields of a task that have a form of their own in the document; the others are sent as they are.
CONVERTED = {"payload", "priority", "scheduled_for", "expires", "needs", "retry", "dedupe", "returns"}
OPTIONAL = tuple(field.name for field in fields(NewTask) if field.name not in CONVERTED)
# The classes of values that a field accepts, and their description, by the field's annotation.
ACCEPTED: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "str | None": (str, "text"),
    "int": (int, "a whole number"),
    "int | None": (int, "a whole number"),
    "Duration | None": ((int, float, timedelta), "a number of seconds or a timedelta"),
    "datetime | None": (datetime, "a datetime with a time zone"),
    "Duration | datetime | None": ((int, float, timedelta, datetime), "seconds, a timedelta or a datetime"),
    "RetryPolicy | None": (RetryPolicy, "a RetryPolicy"),
    "Dedupe | None": (Dedupe, "a Dedupe"),
}
CHECKED = {field.name: ACCEPTED[str(field.type)] for field in fields(NewTask) if field.type in ACCEPTED}


def enqueue_many(
    tasks: Sequence[NewTask], trace_context: str | None = None, *, is_confidential: bool = False, first: int = 0
) -> Statement[list[Enqueued]]:
    """Store a batch, all or nothing, with this trace context. Results are in the order of the tasks.

    The check reports the first task with this index.
    """
    document = tasks_document(tasks, trace_context)
    return Statement(
        query="select ids, deduplicated from rolecall.enqueue_many(%s::jsonb)",
        params=(document,),
        # Called for every enqueue, so small documents skip even the call.
        check=check_batch(document, first) if len(document) >= CHECKED_FROM else None,
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
    chunks: list[Statement[list[Enqueued]]] = []
    for first in range(0, len(tasks), size):
        chunk = tasks[first : first + size]
        try:
            chunks.append(enqueue_many(chunk, trace_context, is_confidential=is_confidential, first=first))
        except InvalidTask as error:
            raise error.moved_by(first) from error
    return chunks


def tasks_document(tasks: Iterable[NewTask], trace_context: str | None = None) -> str:
    """Return a batch as a JSON array, with this trace context. Raises InvalidTask, with the index, for an invalid
    task.
    """
    batch = list(tasks)
    items = [_task_item(task, index) for index, task in enumerate(batch)]
    if any(task.needs for task in batch):
        _add_needs(items, batch)
    for item in items if trace_context is not None else ():
        item.setdefault("trace_context", trace_context)
    try:
        return encode(items)
    except NotStorable as error:
        raise _blame(items) from error


def next_document(tasks: NextTasks) -> str:
    """Return the next tasks as a JSON object. Raises InvalidTask if one cannot be stored."""
    several = {"follow_ups": tasks.follow_ups, "children": tasks.children, "siblings": tasks.siblings}
    parts = [f'"{name}":{tasks_document(some, tasks.trace_context)}' for name, some in several.items() if some]
    if tasks.continuation is not None:
        parts.append(f'"continuation":{tasks_document([tasks.continuation])[1:-1]}')
    if tasks.serial:
        parts.append('"serial":true')
    if tasks.gathers:
        parts.append('"gathers":true')
    return f"{{{','.join(parts)}}}"


def _require_object(payload: Any, index: int) -> None:
    if type(payload) is not dict and not isinstance(payload, Mapping):
        raise InvalidTask(f"the payload must be an object, got {type(payload).__name__}", index=index)
    for key in payload:
        if not isinstance(key, str):
            raise InvalidTask(f"the keys of the payload must be text, got {key!r}", index=index)


def _task_item(task: NewTask, index: int) -> dict[str, object]:
    _require_object(task.payload, index)
    item: dict[str, object] = {"payload": task.payload}
    for name in OPTIONAL:
        value = getattr(task, name)
        if value is None:
            continue
        _check_class(name, value, index)
        item[name] = value.total_seconds() if isinstance(value, timedelta) else value
    if task.priority != 0:
        _check_class("priority", task.priority, index)
        item["priority"] = task.priority
    if task.scheduled_for is not None:
        _check_class("scheduled_for", task.scheduled_for, index)
        item["scheduled_for"] = _moment("scheduled_for", task.scheduled_for, index)
    if task.expires is not None:
        item |= _expiry(task.expires, index)
    if task.retry is not None:
        _check_class("retry", task.retry, index)
        item["retry"] = task.retry.to_json()
    if task.dedupe is not None:
        _check_class("dedupe", task.dedupe, index)
        item["dedupe"] = task.dedupe.to_json()
    return item


def _check_class(name: str, value: object, index: int) -> None:
    if name in CHECKED and not isinstance(value, CHECKED[name][0]):
        expected = CHECKED[name][1]
        raise InvalidTask(f"{name} must be {expected}, got {type(value).__name__}: {value!r}", index=index)


def _add_needs(items: Sequence[dict[str, object]], batch: Sequence[NewTask]) -> None:
    earlier: dict[int, int] = {}
    for index, (item, task) in enumerate(zip(items, batch, strict=True)):
        if task.needs:
            item["needs"] = [need_item(need, earlier, index) for need in task.needs]
        earlier[id(task)] = index


def need_item(need: Need | int | Enqueued | NewTask, earlier: Mapping[int, int], index: int) -> dict[str, object]:
    """Return a need as the engine takes it. `earlier`: the places of earlier tasks of the batch, by `id()`."""
    need = need if isinstance(need, Need) else Need(need)
    item: dict[str, object] = {"on_failure": need.on_failure}
    if need.name is not None:
        item["name"] = need.name
    match need.task:
        case NewTask():
            if id(need.task) not in earlier or need.chain:
                raise InvalidTask(
                    "a task of the same batch can be needed only by later tasks, and without chain=True", index=index
                )
            item["item"] = earlier[id(need.task)]
        case Enqueued():
            item["chain" if need.chain else "task"] = need.task.id
        case _:
            item["chain" if need.chain else "task"] = need.task
    return item


def _moment(name: str, moment: datetime, index: int) -> str:
    if moment.tzinfo is None:
        raise InvalidTask(f"{name} {moment.isoformat()} has no time zone", index=index)
    return moment.isoformat()


def _expiry(expires: Duration | datetime, index: int) -> dict[str, object]:
    _check_class("expires", expires, index)
    if isinstance(expires, datetime):
        return {"expires_at": _moment("expires", expires, index)}
    return {"expires": in_seconds(expires)}


def _blame(items: Sequence[dict[str, object]]) -> InvalidTask:
    for index, item in enumerate(items):
        try:
            encode(item)
        except NotStorable as error:
            return InvalidTask(str(error), index=index)
    return InvalidTask("the batch cannot be stored as JSON")


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
