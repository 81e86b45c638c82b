"""Typed calls for schedules."""

# ruff: noqa: S608 - only this module's own constants are built into a query
from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from itertools import starmap

from rolecall.model.errors import InvalidSchedule
from rolecall.model.schedules import CronPlan, DueCron, PlannedRun, RunOutcome, Schedule, ScheduleRun, StoredSchedule
from rolecall.sql.encoding import NotStorable, encode
from rolecall.sql.events import STORED
from rolecall.sql.statement import Row, Statement, single, where

Fired = tuple[str, int | None]

COLUMNS = (
    "id, name, handler, role, payload::text, extract(epoch from every)::float8, cron, zone, priority, key, "
    "misfire, overlap, extract(epoch from jitter)::float8, enabled, immutable, "
    "case when declared is null then 'person' else 'app' end, edited_at, revision, "
    "next_run_at, last_run_at, last_task_id, "
    "greatest(last_task_count, (select max(generated) from rolecall.schedule_runs as run "
    "where run.task_id = last_task_id and run.outcome = 'enqueued')), last_error, withdrawn"
)
RUN_COLUMNS = (
    "id, slot, at, extract(epoch from at - slot)::float8, outcome, missed, task_id, "
    "greatest(generated, (outcome = 'enqueued')::int), error"
)
DUE_COLUMNS = ", ".join(DueCron.__slots__)


def put(schedule: Schedule, *, new: bool = False) -> Statement[int]:
    """Store the schedule under its name, or change the existing one unless it must be `new`; returns the id."""
    document = document_of(schedule) | ({"revision": 0} if new else {})
    return _put(document)


def change(name: str, changes: Mapping[str, object], revision: int | None = None) -> Statement[int]:
    """Change some fields of a schedule, or store a new one. With a `revision`, raises if the schedule has changed
    since.
    """
    fields = {field: _plain(value) for field, value in changes.items()}
    return _put({"name": name, **fields} | ({} if revision is None else {"revision": revision}))


def ensure(schedules: Iterable[Schedule]) -> Statement[int]:
    """Store new and changed declarations and return their number. Changes made by operators are preserved."""
    documents = ",".join(_encoded(document_of(schedule)) for schedule in schedules)
    return Statement(query="select rolecall.ensure_schedules(%s::jsonb)", params=(f"[{documents}]",), read=single)


def fire(limit: int = 100) -> Statement[list[Fired]]:
    """Run the due interval schedules; returns pairs of schedule and task id."""
    return Statement(
        query="select schedule, task_id from rolecall.fire_schedules(%s::int)",
        params=(limit,),
        read=_read_fired,
        event_kinds=STORED,
    )


def due_cron(limit: int = 100) -> Statement[list[DueCron]]:
    """List the cron schedules whose fire time has come."""
    return Statement(
        query=f"select {DUE_COLUMNS} from rolecall.due_cron(%s::int)",
        params=(limit,),
        read=lambda rows: list(starmap(DueCron, rows)),
    )


def fire_cron(plans: Iterable[CronPlan]) -> Statement[list[Fired]]:
    """Run schedules for computed fire times, unless another process was faster."""
    return Statement(
        query="select schedule, task_id from rolecall.fire_cron(%s::jsonb)",
        params=(encode([_plan_item(plan) for plan in plans]),),
        read=_read_fired,
        event_kinds=STORED,
    )


def trigger(name: str) -> Statement[int]:
    """Enqueue a schedule's task now. While the task of its last run is open, return that task's id instead."""
    return Statement(
        query="select rolecall.trigger_schedule(%s::text)", params=(name,), read=single, event_kinds=STORED
    )


def delete(name: str) -> Statement[bool]:
    """Delete a schedule; returns False if no schedule has this name."""
    return Statement(query="select rolecall.delete_schedule(%s::text)", params=(name,), read=single)


def list_(*, name: str | None = None, schedule_id: int | None = None) -> Statement[list[StoredSchedule]]:
    """List the schedules by name, or find one."""
    filters, params = where(("name = %s::text", name), ("id = %s::bigint", schedule_id))
    return Statement(
        query=f"select {COLUMNS} from rolecall.schedules where {filters} order by name",
        params=params,
        read=lambda rows: list(map(_read_schedule, rows)),
    )


def runs(schedule_id: int, *, before: int | None = None, limit: int = 50) -> Statement[list[ScheduleRun]]:
    """List the runs of a schedule, the latest first, with ids below `before`."""
    filters, params = where(("schedule_id = %s::bigint", schedule_id), ("id < %s::bigint", before))
    return Statement(
        query=f"select {RUN_COLUMNS} from rolecall.schedule_runs where {filters} order by id desc limit %s::int",
        params=(*params, limit),
        read=lambda rows: list(starmap(ScheduleRun, rows)),
    )


def outcomes(schedule_id: int) -> Statement[dict[RunOutcome, int]]:
    """Count the stored runs of a schedule by outcome."""
    return Statement(
        query="select outcome, count(*) from rolecall.schedule_runs where schedule_id = %s::bigint group by outcome",
        params=(schedule_id,),
        read=dict,
    )


def plan_runs(schedule: StoredSchedule, slots: Sequence[datetime]) -> Statement[list[PlannedRun]]:
    """Return when the tasks of some fire times will be due."""
    return Statement(
        query="select slot, slot + rolecall.slot_offset(%s::bigint, slot, make_interval(secs => %s::float8)) "
        "from unnest(%s::timestamptz[]) as slot order by slot",
        params=(schedule.id, schedule.jitter, list(slots)),
        read=lambda rows: [PlannedRun(slot=slot, due_at=due_at) for slot, due_at in rows],
    )


def present() -> Statement[datetime]:
    """Return the database's present time."""
    return Statement(query="select rolecall.clock()", read=single)


def runs_last_hour(role: str) -> Statement[int]:
    """Count the tasks of a role that schedules enqueued within the last hour."""
    return Statement(
        query=(
            "select count(*) from rolecall.schedules as schedule"
            " join rolecall.schedule_runs as run on run.schedule_id = schedule.id"
            " where schedule.role = %s::text and run.outcome = 'enqueued'"
            " and run.at > rolecall.clock() - interval '1 hour'"
        ),
        params=(role,),
        read=single,
    )


def _put(document: Mapping[str, object]) -> Statement[int]:
    return Statement(query="select rolecall.put_schedule(%s::jsonb)", params=(_encoded(document),), read=single)


def document_of(schedule: Schedule) -> dict[str, object]:
    """Return the fields of a schedule that are not None. Raises InvalidSchedule for a time without a zone."""
    item = {field.name: _plain(getattr(schedule, field.name)) for field in fields(schedule)}
    return {name: value for name, value in item.items() if value is not None}


def _plain(value: object) -> object:
    if isinstance(value, datetime) and value.tzinfo is None:
        raise InvalidSchedule(f"first_run_at {value.isoformat()} has no time zone")
    return dict(value) if isinstance(value, Mapping) else value


def _encoded(document: Mapping[str, object]) -> str:
    try:
        return encode(document)
    except NotStorable as error:
        raise InvalidSchedule(f"schedule {document['name']!r}: {error}") from error


def _plan_item(plan: CronPlan) -> dict[str, object]:
    return {
        "id": plan.due.id,
        "revision": plan.due.revision,
        "planned_from": plan.due.next_run_at,
        "slots": list(plan.slots),
        "come": plan.due_count,
        "next": plan.next,
        "error": plan.error,
    }


def _read_fired(rows: list[Row]) -> list[Fired]:
    return [(schedule, task_id) for schedule, task_id in rows]


def _read_schedule(row: Row) -> StoredSchedule:
    schedule_id, name, handler, role, payload, *rest = row
    return StoredSchedule(schedule_id, name, handler, role, json.loads(payload), *rest)
