"""`rolecall workers`: the worker registry and commands to workers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import fields
from typing import Annotated

from typer import Argument, Option

from rolecall.cli.output import print_facts, print_line, print_table
from rolecall.cli.shell import Shell
from rolecall.model.operator.insight import RegisteredWorker
from rolecall.service.workers import WorkerDetail, Workers

Id = Annotated[int, Argument(help="The id of the worker.")]

COLUMNS = ("id", "name", "roles", "slots", "held", "state", "cpu", "memory", "host", "pid", "started", "last heartbeat")
TASK_COLUMNS = ("running task", "role", "handler", "attempt", "started")


def list_(
    shell: Shell,
    *,
    everyone: Annotated[bool, Option("--all", help="Include stopped, dead and silent workers.")] = False,
) -> None:
    known = shell.call(lambda services: services.workers.list(everyone=everyone))
    shell.show(known, lambda: print_table(COLUMNS, map(_row, known), "no workers"))


def show(shell: Shell, worker_id: Id) -> None:
    detail = shell.call(lambda services: services.workers.show(worker_id))
    shell.show(detail, lambda: _print(detail))


def drain(shell: Shell, worker_id: Id) -> None:
    _send_command(shell, worker_id, Workers.drain, "claims no new tasks")


def decommission(shell: Shell, worker_id: Id) -> None:
    _send_command(shell, worker_id, Workers.decommission, "exits when its running tasks have finished")


def resume(shell: Shell, worker_id: Id) -> None:
    _send_command(shell, worker_id, Workers.resume, "claims tasks again")


def _send_command(
    shell: Shell, worker_id: int, command: Callable[[Workers, int], Awaitable[RegisteredWorker]], what: str
) -> None:
    answer = shell.call(lambda services: command(services.workers, worker_id))
    shell.show(answer, lambda: print_line(f"worker {worker_id} {what}"))


def _row(worker: RegisteredWorker) -> tuple[object, ...]:
    served = ", ".join(worker.roles) or "every role"
    uses = (_percent(worker.cpu), _percent(worker.memory))
    place = (worker.pod or worker.host, worker.pid, worker.started_at, worker.heartbeat_at)
    return (worker.id, worker.name, served, worker.slots, worker.held, worker.state, *uses, *place)


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.0%}"


def _print(detail: WorkerDetail) -> None:
    print_facts((field.name.replace("_", " "), getattr(detail.worker, field.name)) for field in fields(detail.worker))
    rows = [(task.id, task.role, task.handler, task.attempt, task.started_at) for task in detail.tasks]
    print_table(TASK_COLUMNS, rows, "runs nothing")
