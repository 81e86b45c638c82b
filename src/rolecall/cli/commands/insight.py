"""`rolecall counts` and `rolecall history`: the pool in numbers."""

from __future__ import annotations

from dataclasses import astuple
from typing import Annotated

from typer import Argument, Option

from rolecall.cli.output import print_line, print_table
from rolecall.cli.shell import Shell
from rolecall.cli.values import read_duration
from rolecall.model.history import Durations, HistoryPoint

COLUMNS = (
    "at",
    "completed",
    "failed",
    "cancelled",
    "retried",
    "wait p50",
    "wait p95",
    "run p50",
    "run p95",
    "ready",
    "running",
)


def counts(shell: Shell) -> None:
    """Count the tasks by role and state."""
    numbers = shell.call(lambda services: services.insight.counts())
    shell.show(numbers, lambda: print_table(("role", "state", "tasks"), map(astuple, numbers), "no tasks"))


def history(
    shell: Shell,
    role: Annotated[str | None, Argument(help="Only this role.")] = None,
    *,
    last: Annotated[str, Option(metavar="DURATION", help="How far to look back: 15m, 6h, 7d.")] = "1h",
) -> None:
    """Show what ended over time, how long it waited and ran (in seconds), and what was open."""
    minutes = max(1, round(read_duration(last, "--last") / 60))
    told = shell.call(lambda services: services.insight.history(role, minutes))

    def show() -> None:
        print_table(COLUMNS, map(_row, told.points), "no history")
        if told.until is None:
            print_line("Nothing was written down yet: a worker or a server does it, every 10 seconds.")

    shell.show(told, show)


def _row(point: HistoryPoint) -> tuple[object, ...]:
    ended = (point.completed, point.failed, point.cancelled, point.retried)
    return (point.at, *ended, *_shown(point.waiting), *_shown(point.running), point.ready_tasks, point.running_tasks)


def _shown(durations: Durations | None) -> tuple[str, str]:
    return ("", "") if durations is None else (f"{durations.p50:.3g}", f"{durations.p95:.3g}")
