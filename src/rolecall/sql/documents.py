"""The JSON documents that the engine takes: batches of new tasks, and batches of reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import assert_never

from rolecall.model.errors import InvalidTask
from rolecall.model.outcomes import Cancelled, Completed, Failed, Report, Snoozed
from rolecall.model.tasks import NewTask
from rolecall.sql.results import clean_error
from rolecall.sql.strict_json import NotStorable, encode, encode_text

__all__ = ["reports_document", "tasks_document"]

OPTIONAL = ("handler", "role", "after", "key", "dedupe_key", "max_attempts")
LONGEST_DELAY = 3e9


def tasks_document(tasks: Iterable[NewTask]) -> str:
    """Return the batch as one JSON array; raise InvalidTask, with the index, for what cannot be stored."""
    items = [_task_item(task, index) for index, task in enumerate(tasks)]
    try:
        return encode(items)
    except NotStorable as error:
        raise _blame(items) from error


def reports_document(reports: Iterable[Report]) -> str:
    """Return the reports as one JSON array; results are embedded as the JSON text that they already are."""
    return f"[{','.join(map(_report_text, reports))}]"


def _task_item(task: NewTask, index: int) -> dict[str, object]:
    payload = task.payload
    if type(payload) is not dict and not isinstance(payload, Mapping):
        raise InvalidTask(f"the payload is not an object but {type(payload).__name__}", index=index)
    item: dict[str, object] = {"payload": payload}
    for name in OPTIONAL:
        value = getattr(task, name)
        if value is not None:
            item[name] = value
    if task.priority != 0:
        item["priority"] = task.priority
    if task.scheduled_for is not None:
        item["scheduled_for"] = _moment(task.scheduled_for, index)
    if task.retry is not None:
        item["retry"] = task.retry.to_json()
    return item


def _moment(moment: datetime, index: int) -> str:
    if moment.tzinfo is None:
        raise InvalidTask(f"scheduled_for {moment.isoformat()} has no time zone", index=index)
    return moment.isoformat()


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
            tail = f',"after":{_seconds(report.after)}{_ran(report.ran)}'
            return f'{{"id":{report.id},"fence":{report.fence},"outcome":"snoozed"{tail}}}'
        case Cancelled():
            tail = f"{_error(report.error)}{_ran(report.ran)}"
            return f'{{"id":{report.id},"fence":{report.fence},"outcome":"cancelled"{tail}}}'
        case _:
            assert_never(report)


def _completed(report: Completed) -> str:
    text = f'{{"id":{report.id},"fence":{report.fence},"outcome":"completed"'
    if report.result_json is not None:
        text += f',"result":{report.result_json}'
    if report.ran is not None:
        text += f',"ran":{report.ran:.6f}'
    if report.follow_ups:
        text += f',"follow_ups":{tasks_document(report.follow_ups)}'
    return text + "}"


def _failed(report: Failed) -> str:
    text = f'{{"id":{report.id},"fence":{report.fence},"outcome":"failed","reason":{encode_text(report.reason)}'
    if report.final:
        text += ',"final":true'
    if report.after is not None:
        text += f',"after":{_seconds(report.after)}'
    return f"{text}{_error(report.error)}{_ran(report.ran)}}}"


def _error(text: str) -> str:
    return f',"error":{encode_text(clean_error(text))}' if text else ""


def _ran(seconds: float | None) -> str:
    return "" if seconds is None else f',"ran":{seconds:.6f}'


def _seconds(seconds: float) -> str:
    # No delay may be such that the engine's arithmetic refuses the report: its task could never be finished.
    return f"{min(max(0.0, seconds), LONGEST_DELAY):.6f}"
