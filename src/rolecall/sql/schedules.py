"""Typed calls about schedules."""

from __future__ import annotations

from collections.abc import Iterable

from rolecall.model.errors import InvalidSchedule
from rolecall.model.schedules import Schedule
from rolecall.sql.statement import Statement, single
from rolecall.sql.strict_json import NotStorable, encode

__all__ = ["delete", "ensure", "fire", "put", "trigger"]


def put(schedule: Schedule) -> Statement[int]:
    """Store the schedule under its name, or change the one that stands; the answer is its id."""
    return Statement(query="select rolecall.put_schedule(%s::jsonb)", params=(_document(schedule),), read=single)


def ensure(schedules: Iterable[Schedule]) -> Statement[int]:
    """Store those that are not there yet, leave the others as people made them; the answer is how many."""
    documents = ",".join(_document(schedule) for schedule in schedules)
    return Statement(query="select rolecall.ensure_schedules(%s::jsonb)", params=(f"[{documents}]",), read=single)


def fire(limit: int = 100) -> Statement[list[tuple[str, int]]]:
    """Enqueue what is due, at most one task a schedule; the answer pairs schedules with task ids."""
    return Statement(
        query="select schedule, task_id from rolecall.fire_schedules(%s::int)",
        params=(limit,),
        read=lambda rows: [(schedule, task_id) for schedule, task_id in rows],
    )


def trigger(name: str) -> Statement[int]:
    """Enqueue a schedule's task now; while that task is open, again gives the same id."""
    return Statement(query="select rolecall.trigger_schedule(%s::text)", params=(name,), read=single)


def delete(name: str) -> Statement[bool]:
    """Forget a schedule; False if there was none of this name."""
    return Statement(query="select rolecall.delete_schedule(%s::text)", params=(name,), read=single)


def _document(schedule: Schedule) -> str:
    item = {
        "name": schedule.name,
        "handler": schedule.handler,
        "role": schedule.role,
        "payload": dict(schedule.payload),
        "every": schedule.every,
        "priority": schedule.priority,
        "key": schedule.key,
        "enabled": schedule.enabled,
        "first_run_at": schedule.first_run_at,
    }
    try:
        return encode({name: value for name, value in item.items() if value is not None})
    except NotStorable as error:
        raise InvalidSchedule(f"schedule {schedule.name!r}: {error}") from error
