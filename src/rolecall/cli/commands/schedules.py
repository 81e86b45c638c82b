"""`rolecall schedules`: the stored schedules and their runs."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated

from typer import Argument, Option

from rolecall.cli.output import print_facts, print_line, print_table
from rolecall.cli.shell import Shell
from rolecall.cli.values import read_date, read_duration, read_payload
from rolecall.model.schedules import ScheduleRun, StoredSchedule

Name = Annotated[str, Argument(help="The name of the schedule.")]

COLUMNS = ("name", "handler", "role", "rhythm", "enabled", "next run", "last run", "tasks", "last task", "last error")
RUN_COLUMNS = ("slot", "at", "late s", "outcome", "missed", "task", "tasks", "error")
AHEAD_COLUMNS = ("schedule", "enabled", "from", "to", "runs")
PLAN_COLUMNS = ("slot", "task due")


def list_(shell: Shell) -> None:
    schedules = shell.call(lambda services: services.schedules.list())
    shell.show(schedules, lambda: print_table(COLUMNS, map(_row, schedules), "no schedules"))


def put(  # sizes: each is an option of the command
    shell: Shell,
    name: Name,
    *,
    every: Annotated[str | None, Option(metavar="DURATION", help="The interval: 90, 15m, 4h, 1d.")] = None,
    cron: Annotated[
        str | None, Option(metavar="EXPRESSION", help="A cron expression: '30 4 * * MON-FRI', @daily.")
    ] = None,
    zone: Annotated[
        str | None, Option(help="The time zone of --cron, such as America/Phoenix; by default UTC.")
    ] = None,
    handler: Annotated[str | None, Option(help="The handler of its tasks.")] = None,
    role: Annotated[str | None, Option(help="Their role; by default the handler's own.")] = None,
    payload: Annotated[str | None, Option(metavar="JSON", help="An object, @FILE, or - for stdin.")] = None,
    priority: Annotated[int | None, Option(help="-100 to 100, higher first.")] = None,
    key: Annotated[str | None, Option(help="At most one running task per key.")] = None,
    misfire: Annotated[str | None, Option(help="After missed fire times: skip, one (the default), all.")] = None,
    overlap: Annotated[
        str | None, Option(help="If its previous task is open: skip, queue (the default), cancel.")
    ] = None,
    jitter: Annotated[str | None, Option(metavar="DURATION", help="A random delay of up to this long.")] = None,
    first_run: Annotated[
        str | None, Option(metavar="DATE", help="The next fire time; a new schedule fires at once.")
    ] = None,
    enabled: Annotated[bool | None, Option("--enabled/--disabled", help="Whether it fires.")] = None,
) -> None:
    given = {
        "every": None if every is None else read_duration(every, "--every"),
        "cron": cron,
        "zone": zone,
        "handler": handler,
        "role": role,
        "payload": None if payload is None else read_payload(payload),
        "priority": priority,
        "key": key,
        "misfire": misfire,
        "overlap": overlap,
        "jitter": None if jitter is None else read_duration(jitter, "--jitter"),
        "enabled": enabled,
        "first_run_at": None if first_run is None else read_date(first_run),
    }
    changes = {field: value for field, value in given.items() if value is not None}
    stored = shell.call(lambda services: services.schedules.change(name, changes, create=True))
    shell.show(stored, lambda: _print(stored))


def trigger(shell: Shell, name: Name) -> None:
    task_id = shell.call(lambda services: services.schedules.trigger(name))
    shell.show({"schedule": name, "task_id": task_id}, lambda: print_line(f"task {task_id} enqueued"))


def show(shell: Shell, name: Name) -> None:
    schedule = shell.call(lambda services: services.schedules.get(name))
    shell.show(schedule, lambda: _print(schedule))


def enable(shell: Shell, name: Name) -> None:
    stored = shell.call(lambda services: services.schedules.enable(name))
    shell.show(stored, lambda: _print(stored))


def disable(shell: Shell, name: Name) -> None:
    stored = shell.call(lambda services: services.schedules.disable(name))
    shell.show(stored, lambda: _print(stored))


def preview(
    shell: Shell, name: Name, *, number: Annotated[int, Option("-n", "--number", help="How many.")] = 10
) -> None:
    planned = shell.call(lambda services: services.schedules.preview(name, number))
    shell.show(planned, lambda: print_table(PLAN_COLUMNS, ((run.slot, run.due_at) for run in planned), "no fire times"))


def ahead(shell: Shell, *, hours: Annotated[float, Option(help="The period to show.")] = 24) -> None:
    found = shell.call(lambda services: services.schedules.ahead(hours))
    rows = [(each.name, each.enabled, part.first, part.last, part.slots) for each in found for part in each.stretches]
    shell.show(found, lambda: print_table(AHEAD_COLUMNS, rows, "no fire times"))


def outcomes(shell: Shell, name: Name) -> None:
    counted = shell.call(lambda services: services.schedules.outcomes(name))
    shell.show(counted, lambda: print_table(("outcome", "runs"), sorted(counted.items()), "no runs yet"))


def runs(
    shell: Shell,
    name: Name,
    *,
    limit: Annotated[int, Option(help="How many.")] = 20,
    cursor: Annotated[str | None, Option(help="The next page.")] = None,
) -> None:
    page = shell.call(lambda services: services.schedules.runs(name, cursor=cursor, limit=limit))
    shell.show(page, lambda: print_table(RUN_COLUMNS, map(_run_row, page.items), "no runs yet"))


def delete(shell: Shell, name: Name) -> None:
    shell.call(lambda services: services.schedules.delete(name))
    shell.show({"deleted": name}, lambda: print_line(f"schedule {name} deleted"))


def _row(schedule: StoredSchedule) -> tuple[object, ...]:
    rhythm = f"{schedule.every:g} s" if schedule.cron is None else f"{schedule.cron} ({schedule.zone})"
    what = (schedule.name, schedule.handler, schedule.role, rhythm, schedule.enabled)
    last = (schedule.last_run_at, schedule.last_task_count, schedule.last_task_id, schedule.last_error)
    return (*what, schedule.next_run_at if schedule.enabled else None, *last)


def _run_row(run: ScheduleRun) -> tuple[object, ...]:
    return (run.slot or "now", run.at, run.late, run.outcome, run.missed, run.task_id, run.task_count, run.error)


def _print(schedule: StoredSchedule) -> None:
    print_facts((field.name.replace("_", " "), getattr(schedule, field.name)) for field in fields(schedule))
