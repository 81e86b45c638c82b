"""`rolecall counts`, `capacity`, `roles` and `workers`: the pool in numbers."""

from __future__ import annotations

from dataclasses import astuple
from typing import Annotated

from typer import Argument, Option

from rolecall.cli.output import print_facts, print_table
from rolecall.cli.shell import Shell
from rolecall.model.insight import DeclaredRole, RegisteredWorker

CAPACITY_COLUMNS = (
    "role",
    "pending",
    "ready",
    "running",
    "workers",
    "claimed/h",
    "completed/h",
    "failed/h",
    "per worker-hour",
    "hours to drain",
)
WORKER_COLUMNS = ("id", "name", "roles", "slots", "held", "state", "host", "pid", "started", "last heard of")
ROLE_COLUMNS = ("role", "lease s", "timeout s", "attempts", "payload bytes", "paused since", "description")


def counts(shell: Shell) -> None:
    """Count the tasks by role and state."""
    numbers = shell.call(lambda services: services.insight.counts())
    shell.show(numbers, lambda: print_table(("role", "state", "tasks"), map(astuple, numbers), "no tasks"))


def capacity(
    shell: Shell,
    role: Annotated[str | None, Argument(help="Only this role: how many workers it needs.")] = None,
) -> None:
    """Show what each role has to do, what its workers manage, and when it will be done."""
    if role is None:
        capacities = shell.call(lambda services: services.insight.capacity())
        shell.show(capacities, lambda: print_table(CAPACITY_COLUMNS, map(astuple, capacities), "no roles"))
        return
    need = shell.call(lambda services: services.insight.need(role))
    facts = [
        ("role", need.role),
        ("pending tasks", need.pending_tasks),
        ("active workers", need.active_workers),
        *((f"workers needed {when.replace('_', ' ')}", number) for when, number in need.workers_needed.items()),
    ]
    shell.show(need, lambda: print_facts(facts))


def roles(shell: Shell) -> None:
    """List the roles and their settings."""
    declared = shell.call(lambda services: services.roles.list())
    shell.show(declared, lambda: print_table(ROLE_COLUMNS, map(_role_row, declared), "no roles"))


def workers(
    shell: Shell,
    *,
    everyone: Annotated[bool, Option("--all", help="The stopped and the silent ones too.")] = False,
) -> None:
    """List the workers that were heard of within five minutes."""
    known = shell.call(lambda services: services.workers.list(everyone=everyone))
    shell.show(known, lambda: print_table(WORKER_COLUMNS, map(_worker_row, known), "no workers"))


def _role_row(role: DeclaredRole) -> tuple[object, ...]:
    attempts = role.max_attempts or "unlimited"
    limits = (role.lease, role.timeout, attempts, role.max_payload_bytes)
    return (role.name, *limits, role.paused_at, role.description)


def _worker_row(worker: RegisteredWorker) -> tuple[object, ...]:
    served = ", ".join(worker.roles) or "every role"
    place = (worker.host, worker.pid, worker.started_at, worker.heartbeat_at)
    return (worker.id, worker.name, served, worker.slots, worker.held, _state(worker), *place)


def _state(worker: RegisteredWorker) -> str:
    if worker.stopped_at:
        return "stopped"
    if not worker.active:
        return "silent"
    return "idle" if worker.idle else "busy"
