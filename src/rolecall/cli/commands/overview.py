"""`rolecall overview`: what is wrong, and how the pool is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple

from rolecall.cli.locate import Checked, checks_of
from rolecall.cli.output import print_facts, print_line, print_table
from rolecall.cli.shell import Shell
from rolecall.model.overview import PoolOverview

ALERTS = ("severity", "problem", "what to do")
ROLES = (
    "role",
    "paused",
    "ready",
    "scheduled",
    "running",
    "waiting since",
    "ended/s",
    "workers",
    "hours to drain",
    "workers needed (1 h)",
)


def overview(shell: Shell, *, app: Checked = None) -> None:
    """Show what is wrong, the pool's figures, and its roles."""
    found = shell.call(lambda services: services.overview.show(), checks_of(app))
    shell.show(found, lambda: _print(found))


def _print(found: PoolOverview) -> None:
    if found.alerts:
        print_table(ALERTS, ((each.severity, each.sentence, each.advice) for each in found.alerts), "")
    else:
        print_line("All is well.")
    print_facts(_facts(found))
    print_table(ROLES, map(astuple, found.roles), "no roles")


def _facts(found: PoolOverview) -> Iterator[tuple[str, object]]:
    figures = found.figures
    yield "ended per second", figures.ended_per_second
    yield "waiting p50 s", figures.waiting and figures.waiting.p50
    yield "waiting p95 s", figures.waiting and figures.waiting.p95
    yield "failed within the last hour", figures.failed_last_hour
    yield "ready", figures.ready
    yield "running", f"{figures.running} of {figures.slots} slots of {figures.workers} workers"
