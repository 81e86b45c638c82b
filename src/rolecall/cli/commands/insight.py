"""`rolecall counts`, `history` and `overview`: figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple
from datetime import timedelta
from typing import Annotated

from typer import Argument, Option

from rolecall.cli.checks import Checked, checks_of
from rolecall.cli.output import print_facts, print_line, print_table
from rolecall.cli.shell import Shell
from rolecall.cli.values import read_duration
from rolecall.model.handoff import HandoffState
from rolecall.model.operator.history import Durations, HistoryPoint
from rolecall.model.operator.overview import PoolOverview

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
ALERTS = ("severity", "problem", "since", "what to do")
LANES = ("role", "band", "waiting", "taken", "waiting since")
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


def counts(shell: Shell) -> None:
    numbers = shell.call(lambda services: services.insight.counts())
    shell.show(numbers, lambda: print_table(("role", "state", "tasks"), map(astuple, numbers), "no tasks"))


def history(
    shell: Shell,
    role: Annotated[str | None, Argument(help="Only this role.")] = None,
    *,
    last: Annotated[str, Option(metavar="DURATION", help="The period before now: 15m, 6h, 7d.")] = "1h",
    handler: Annotated[str | None, Option(help="Only this handler of the role.")] = None,
    days_ago: Annotated[int, Option(min=0, max=90, help="End the period this many days before now.")] = 0,
) -> None:
    minutes = max(1, round(read_duration(last, "--last") / 60))
    past = shell.call(
        lambda services: services.insight.history(role, minutes, handler=handler, ago=timedelta(days=days_ago))
    )

    def show() -> None:
        print_table(COLUMNS, map(_row, past.points), "no history")
        if past.until is None:
            print_line("Nothing has been recorded yet: workers and servers do that every 10 seconds.")

    shell.show(past, show)


def _row(point: HistoryPoint) -> tuple[object, ...]:
    ended = (point.completed, point.failed, point.cancelled, point.retried)
    return (
        point.at,
        *ended,
        *_duration_texts(point.waiting),
        *_duration_texts(point.running),
        point.ready_tasks,
        point.running_tasks,
    )


def _duration_texts(durations: Durations | None) -> tuple[str, str]:
    return ("", "") if durations is None else (f"{durations.p50:.3g}", f"{durations.p95:.3g}")


def overview(shell: Shell, *, app: Checked = None) -> None:
    found = shell.call(lambda services: services.overview.show(), checks_of(app))
    shell.show(found, lambda: _print(found))


def _print(found: PoolOverview) -> None:
    if found.alerts:
        print_table(ALERTS, ((each.severity, each.sentence, each.since, each.advice) for each in found.alerts), "")
    else:
        print_line("No problems.")
    print_facts(_facts(found))
    print_table(ROLES, map(astuple, found.roles), "no roles")
    if found.handoff is not None:
        print_line(_dispatch_line(found.handoff))
        print_table(LANES, map(astuple, found.handoff.lanes), "nothing has been dispatched yet")


def _dispatch_line(handoff: HandoffState) -> str:
    if handoff.problem is not None:
        return f"No dispatch through Redis: {handoff.problem}"
    led_by = handoff.dispatcher or "no dispatcher"
    return f"Dispatch through Redis ({handoff.kind}), led by {led_by}; {handoff.reclaimed} entries reclaimed"


def _facts(found: PoolOverview) -> Iterator[tuple[str, object]]:
    figures = found.figures
    yield "ended per second", figures.ended_per_second
    yield "waiting p50 s", figures.waiting and figures.waiting.p50
    yield "waiting p95 s", figures.waiting and figures.waiting.p95
    yield "failed in the last hour", figures.failed_last_hour
    yield "ready", figures.ready
    yield "running", f"{figures.running} of {figures.slots} slots of {figures.workers} workers"
