"""`rolecall tasks`: look at tasks, put them back, cancel them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, fields
from typing import Annotated

from typer import Argument, Option

from rolecall.cli.output import print_facts, print_table
from rolecall.cli.shell import Shell
from rolecall.model.errors import TaskNotFound, TaskNotRetryable
from rolecall.model.insight import TaskFilter
from rolecall.model.tasks import Task
from rolecall.service.tasks import TaskHistory

Ids = Annotated[list[int], Argument(metavar="ID...", help="The ids of the tasks.")]

COLUMNS = ("id", "role", "handler", "status", "priority", "key", "attempt", "due", "created", "error")


def list_(  # sizes: each is an option of the command
    shell: Shell,
    *,
    state: Annotated[str | None, Option(help="A state or status: failed, ready, stale ...")] = None,
    role: Annotated[str | None, Option(help="Only this role.")] = None,
    handler: Annotated[str | None, Option(help="Only this handler.")] = None,
    key: Annotated[str | None, Option(help="Only this key.")] = None,
    before: Annotated[int | None, Option(metavar="ID", help="Only older ones: the next page.")] = None,
    limit: Annotated[int, Option(help="At most so many, 1 to 1000.")] = 50,
) -> None:
    """List tasks, open and finished, newest first."""
    which = TaskFilter(state=state, role=role, handler=handler, key=key, before=before, limit=limit)
    tasks = shell.call(lambda services: services.tasks.list(which))
    shell.show(tasks, lambda: print_table(COLUMNS, map(_row, tasks), "no such tasks"))


def show(shell: Shell, task_id: Annotated[int, Argument(metavar="ID", help="The id of the task.")]) -> None:
    """Show one task with everything that happened to it."""
    history = shell.call(lambda services: services.tasks.show(task_id))
    shell.show(history, lambda: _print_history(history))


def retry(shell: Shell, ids: Ids) -> None:
    """Put failed or cancelled tasks back, under their old ids; exit 0 only if all are pending again."""
    outcomes = shell.call(lambda services: services.tasks.retry(ids))
    _show_outcomes(shell, outcomes)
    _require_found(outcomes)
    for task_id, outcome in outcomes.items():
        if outcome != "pending":
            raise TaskNotRetryable(task_id=task_id, outcome=outcome)


def cancel(shell: Shell, ids: Ids) -> None:
    """Cancel tasks; a running one is told to stop. Finished ones stay as they are."""
    outcomes = shell.call(lambda services: services.tasks.cancel(ids))
    _show_outcomes(shell, outcomes)
    _require_found(outcomes)


def print_task(task: Task) -> None:
    """Write what is known about a task, one fact a line."""
    print_facts((field.name.replace("_", " "), getattr(task, field.name)) for field in fields(task))


def _row(task: Task) -> tuple[object, ...]:
    attempt = f"{task.attempt}/{task.max_attempts}" if task.max_attempts else task.attempt
    what = (task.id, task.role, task.handler, task.status, task.priority, task.key)
    return (*what, attempt, task.scheduled_for, task.created_at, task.error)


def _print_history(history: TaskHistory) -> None:
    print_task(history.task)
    columns = ("at", "what", "attempt", "worker", "detail")
    print_table(columns, map(astuple, history.timeline), "nothing happened to it yet")


def _show_outcomes(shell: Shell, outcomes: Mapping[int, str]) -> None:
    document = [{"id": task_id, "outcome": outcome} for task_id, outcome in outcomes.items()]
    shell.show(document, lambda: print_table(("id", "outcome"), outcomes.items(), "no tasks"))


def _require_found(outcomes: Mapping[int, str]) -> None:
    for task_id, outcome in outcomes.items():
        if outcome == "missing":
            raise TaskNotFound(task_id=task_id)
