"""`rolecall schedules`: the stored rules that enqueue again and again."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated

from typer import Argument, Option

from rolecall.cli.output import print_facts, print_line, print_table
from rolecall.cli.shell import Shell
from rolecall.cli.values import read_date, read_duration, read_payload
from rolecall.model.insight import StoredSchedule

Name = Annotated[str, Argument(help="The name of the schedule.")]

COLUMNS = ("name", "handler", "role", "every s", "enabled", "next run", "last run", "last task", "last error")


def list_(shell: Shell) -> None:
    """List the schedules by name."""
    schedules = shell.call(lambda services: services.schedules.list())
    shell.show(schedules, lambda: print_table(COLUMNS, map(_row, schedules), "no schedules"))


def put(  # sizes: each is an option of the command
    shell: Shell,
    name: Name,
    *,
    every: Annotated[str | None, Option(metavar="DURATION", help="How often: 90, 15m, 4h, 1d.")] = None,
    handler: Annotated[str | None, Option(help="The handler that does its tasks.")] = None,
    role: Annotated[str | None, Option(help="Their role; by default the handler's own.")] = None,
    payload: Annotated[str | None, Option(metavar="JSON", help="An object, @FILE, or - for stdin.")] = None,
    priority: Annotated[int | None, Option(help="-100 to 100, higher first.")] = None,
    key: Annotated[str | None, Option(help="At most one running task per key.")] = None,
    first_run: Annotated[str | None, Option(metavar="DATE", help="When next; a new one at once.")] = None,
    enabled: Annotated[bool | None, Option("--enabled/--disabled", help="Whether it fires.")] = None,
) -> None:
    """Store a new schedule, or change what is given of the one that stands."""
    said = {
        "every": None if every is None else read_duration(every, "--every"),
        "handler": handler,
        "role": role,
        "payload": None if payload is None else read_payload(payload),
        "priority": priority,
        "key": key,
        "enabled": enabled,
        "first_run_at": None if first_run is None else read_date(first_run),
    }
    changes = {field: value for field, value in said.items() if value is not None}
    stored = shell.call(lambda services: services.schedules.change(name, changes))
    shell.show(stored, lambda: _print(stored))


def trigger(shell: Shell, name: Name) -> None:
    """Enqueue its task now; while that one is open, again gives the same."""
    task_id = shell.call(lambda services: services.schedules.trigger(name))
    shell.show({"schedule": name, "task_id": task_id}, lambda: print_line(f"task {task_id} enqueued"))


def delete(shell: Shell, name: Name) -> None:
    """Forget a schedule; the tasks that it enqueued stay."""
    shell.call(lambda services: services.schedules.delete(name))
    shell.show({"deleted": name}, lambda: print_line(f"schedule {name} deleted"))


def _row(schedule: StoredSchedule) -> tuple[object, ...]:
    what = (schedule.name, schedule.handler, schedule.role, schedule.every, schedule.enabled)
    return (*what, schedule.next_run_at, schedule.last_run_at, schedule.last_task_id, schedule.last_error)


def _print(schedule: StoredSchedule) -> None:
    print_facts((field.name.replace("_", " "), getattr(schedule, field.name)) for field in fields(schedule))
