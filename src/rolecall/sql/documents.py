"""JSON documents that the engine's functions receive and return, checked so that the database can store them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, assert_never

from rolecall.model.durations import Duration, in_seconds
from rolecall.model.error_text import clean_error, message_of
from rolecall.model.errors import InvalidTask
from rolecall.model.outcomes import (
    MARK,
    Blocked,
    Cancelled,
    Completed,
    Failed,
    Misfit,
    Report,
    Returned,
    Snoozed,
    UnstoredResult,
)
from rolecall.model.tasks import Enqueued, Need, NewTask, NextTasks
from rolecall.sql.encoding import NotStorable, encode, encode_text
from rolecall.sql.statement import from_json

TEXTS = ("handler", "role", "key", "dedupe_key", "trace_context")
DELAYS = ("after", "timeout")
OPTIONAL = ("handler", "role", *DELAYS, "key", "dedupe_key", "max_attempts", "on_failure", "trace_context")
LONGEST_DELAY = 3e9
MAX_RESULT_BYTES = 1024 * 1024
REPLACEMENT = "\ufffd"


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


def reports_document(reports: Iterable[Report]) -> str:
    """Return the reports as a JSON array; results, which are JSON text already, are embedded."""
    return f"[{','.join(map(_report_text, reports))}]"


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
        if value is not None:
            item[name] = value
    _require_texts(item, index)
    for name in DELAYS:
        delay = item.get(name)
        if isinstance(delay, timedelta):
            item[name] = delay.total_seconds()
    if task.priority != 0:
        item["priority"] = task.priority
    if task.scheduled_for is not None:
        item["scheduled_for"] = _moment("scheduled_for", task.scheduled_for, index)
    item |= _expiry(task.expires, index)
    if task.retry is not None:
        item["retry"] = task.retry.to_json()
    if task.dedupe is not None:
        item["dedupe"] = task.dedupe.to_json()
    return item


def _require_texts(item: Mapping[str, object], index: int) -> None:
    for name in TEXTS:
        value = item.get(name)
        if value is not None and not isinstance(value, str):
            raise InvalidTask(f"{name} must be text, got {type(value).__name__}: {value!r}", index=index)


def _add_needs(items: Sequence[dict[str, object]], batch: Sequence[NewTask]) -> None:
    earlier: dict[int, int] = {}
    for index, (item, task) in enumerate(zip(items, batch, strict=True)):
        if task.needs:
            item["needs"] = [_need_item(need, earlier, index) for need in task.needs]
        earlier[id(task)] = index


def _need_item(need: Need | int | Enqueued | NewTask, earlier: Mapping[int, int], index: int) -> dict[str, object]:
    said = need if isinstance(need, Need) else Need(need)
    item: dict[str, object] = {"on_failure": said.on_failure}
    if said.name is not None:
        item["name"] = said.name
    match said.task:
        case NewTask():
            if id(said.task) not in earlier or said.chain:
                raise InvalidTask(
                    "a task of the same batch can be needed only by later tasks, and without chain=True", index=index
                )
            item["item"] = earlier[id(said.task)]
        case Enqueued():
            item["chain" if said.chain else "task"] = said.task.id
        case _:
            item["chain" if said.chain else "task"] = said.task
    return item


def _moment(name: str, moment: datetime, index: int) -> str:
    if moment.tzinfo is None:
        raise InvalidTask(f"{name} {moment.isoformat()} has no time zone", index=index)
    return moment.isoformat()


def _expiry(expires: Duration | datetime | None, index: int) -> dict[str, object]:
    if isinstance(expires, datetime):
        return {"expires_at": _moment("expires", expires, index)}
    return {} if expires is None else {"expires": in_seconds(expires)}


def _blame(items: Sequence[dict[str, object]]) -> InvalidTask:
    for index, item in enumerate(items):
        try:
            encode(item)
        except NotStorable as error:
            return InvalidTask(str(error), index=index)
    return InvalidTask("the batch cannot be stored as JSON")


def _report_text(report: Report) -> str:
    match report:
        case Completed():
            return _completed(report)
        case Failed():
            return _failed(report)
        case Snoozed():
            tail = f"{_when(report)}{_ran(report.ran)}"
            return f'{{"id":{report.id},"fence":{report.fence},"outcome":"snoozed"{tail}}}'
        case Blocked():
            needs = encode([_need_item(need, {}, 0) for need in report.needs])
            return f'{{"id":{report.id},"fence":{report.fence},"outcome":"blocked","needs":{needs}{_ran(report.ran)}}}'
        case Cancelled():
            tail = f"{_error(report.error)}{_ran(report.ran)}"
            return f'{{"id":{report.id},"fence":{report.fence},"outcome":"cancelled"{tail}}}'
        case Returned():
            return f'{{"id":{report.id},"fence":{report.fence},"outcome":"returned"}}'
        case Misfit():
            tail = f',"intake":{encode_text(report.intake)}{_error(report.error)}'
            return f'{{"id":{report.id},"fence":{report.fence},"outcome":"misfit"{tail}}}'
        case _:
            assert_never(report)


def _completed(report: Completed) -> str:
    text = f'{{"id":{report.id},"fence":{report.fence},"outcome":"completed"'
    if report.result_json is not None:
        text += f',"result":{report.result_json}'
    if report.ran is not None:
        text += f',"ran":{report.ran:.6f}'
    if report.next_tasks is not None:
        text += f',"next":{next_document(report.next_tasks)}'
    return text + "}"


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


def _failed(report: Failed) -> str:
    text = f'{{"id":{report.id},"fence":{report.fence},"outcome":"failed","reason":{encode_text(report.reason)}'
    if report.final:
        text += ',"final":true'
    text += _when(report)
    return f"{text}{_error(report.error)}{_ran(report.ran)}}}"


def _error(text: str) -> str:
    return f',"error":{encode_text(clean_error(text))}' if text else ""


def _when(report: Failed | Snoozed) -> str:
    if report.at is not None:
        return f',"at":"{report.at.isoformat()}"'
    return "" if report.after is None else f',"after":{_seconds(report.after)}'


def _ran(seconds: float | None) -> str:
    return "" if seconds is None else f',"ran":{seconds:.6f}'


def _seconds(seconds: float) -> str:
    # A delay out of the engine's range would make it reject the report, and the task could never be finished.
    return f"{min(max(0.0, seconds), LONGEST_DELAY):.6f}"


class EncodedResult(NamedTuple):
    """A result as JSON text; if it could not be stored, a marker object and the reason."""

    text: str
    unstored: str | None = None


def encode_result(value: object, *, max_bytes: int = MAX_RESULT_BYTES) -> EncodedResult:
    """Encode any result of a handler as JSON text."""
    if isinstance(value, UnstoredResult):
        return _marker(value.why)
    try:
        text = encode(value)
    except NotStorable as error:
        return _marker(str(error))
    except BaseException as error:  # noqa: BLE001 - a result's own code runs in there and may raise anything
        return _marker(f"{type(error).__name__}: {message_of(error)}")
    size = len(text.encode())
    return EncodedResult(text) if size <= max_bytes else _marker(f"{size} bytes exceed the limit of {max_bytes}")


def read_result(text: str | None) -> Any:
    """Decode a result from JSON text; an UnstoredResult if it could not be stored."""
    value = from_json(text)
    if isinstance(value, dict) and value.keys() == {"rolecall", "why"} and value["rolecall"] == MARK:
        return UnstoredResult(value["why"])
    return value


def _marker(why: str) -> EncodedResult:
    told = clean_error(why)
    return EncodedResult(encode({"rolecall": MARK, "why": told}), told)
