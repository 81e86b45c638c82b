"""`rolecall live` and `tasks progress`: the progress of roles and trees."""

from __future__ import annotations

from dataclasses import astuple
from typing import Annotated

from typer import Argument, Option

from rolecall.cli.output import print_facts, print_table
from rolecall.cli.shell import Shell
from rolecall.model.operator.live import LiveSnapshot
from rolecall.model.operator.progress import Progress
from rolecall.service.progress import read_weights

PHASES = ("phase", "activity", "completed", "failed", "running", "share")
ROLES = (
    *("role", "paused", "blocked", "scheduled", "ready", "parked", "running", "waiting", "waiting since", "root"),
    *("completed/min", "failed/min", "cancelled/min"),
)


def tree(
    shell: Shell,
    task_id: Annotated[int, Argument(metavar="ID", help="The id of the task.")],
    *,
    weight: Annotated[
        list[str] | None, Option(metavar="HANDLER:NUMBER", help="The weight of a phase; the default is 1.")
    ] = None,
) -> None:
    weights = read_weights(weight or ())
    progress = shell.call(lambda services: services.progress.tree(task_id, weights))
    shell.show(progress, lambda: _print_tree(progress))


def roles(shell: Shell) -> None:
    snapshot = shell.call(lambda services: services.progress.roles())
    shell.show(snapshot, lambda: _print_roles(snapshot))


def _print_tree(progress: Progress) -> None:
    step = progress.step
    print_facts(
        [
            ("task", f"{progress.id} {progress.handler}"),
            ("state", progress.state),
            ("progress", _percent(progress.fraction)),
            ("step", step and f"{step.id} {step.handler}"),
            ("of it", f"{step.completed} of {step.total}" if step and step.parent_id else None),
            ("info", progress.info or None),
        ]
    )
    rows = [
        (
            phase.handler,
            phase.activity,
            f"{phase.completed} of {phase.total}",
            phase.failed,
            phase.running,
            _percent(phase.fraction),
        )
        for phase in progress.phases
    ]
    print_table(PHASES, rows, "no children")


def _print_roles(snapshot: LiveSnapshot) -> None:
    print_table(ROLES, map(astuple, snapshot.roles), "no roles")


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.0f} %"
