"""`rolecall top`: the current state of all tasks and workers, continuously updated."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text
from typer import Option

from rolecall.cli.checks import Checked, checks_of
from rolecall.cli.documents import print_json
from rolecall.cli.output import console, shown, table_of
from rolecall.cli.shell import Shell
from rolecall.cli.values import read_duration
from rolecall.model.errors import ConfigError, DatabaseUnavailable
from rolecall.model.operator.insight import RegisteredWorker, RunningTask, TaskFilter
from rolecall.model.operator.overview import PoolOverview
from rolecall.model.tasks import TaskSummary
from rolecall.service.services import Services

ROLES = ("role", "", "ready", "scheduled", "running", "oldest waits", "ended/s", "workers")
WORKERS = ("worker", "state", "slots", "cpu", "memory", "runs")
FAILURES = ("failed", "handler", "when", "error")
MOST_TASKS = 3
MOST_FAILURES = 5
LEAST_PAUSE = 0.2
LONGEST_ERROR = 80
MINUTE, HOUR, DAY = 60, 3_600, 86_400

Draw = Callable[[RenderableType], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The state at one moment. `running` contains some running tasks of each worker, by worker id."""

    at: datetime
    overview: PoolOverview
    workers: Sequence[RegisteredWorker]
    running: Mapping[int, Sequence[RunningTask]]
    failures: Sequence[TaskSummary]


def top(
    shell: Shell,
    *,
    every: Annotated[str, Option(metavar="DURATION", help="The time between updates.")] = "2",
    once: Annotated[bool, Option("--once", help="Show one snapshot and exit.")] = False,
    app: Checked = None,
) -> None:
    """On a terminal, the screen is redrawn. Elsewhere, and with --json, each snapshot is written after the last one."""
    pause = read_duration(every, "--every")
    if pause < LEAST_PAUSE:
        raise ConfigError(f"must be at least {LEAST_PAUSE} s", variable="--every", value=every)
    checks, looked = checks_of(app), False
    with shell.ready_database() as dsn, _open_drawing(one=once or shell.as_json) as draw:

        def show(snapshot: Snapshot) -> None:
            nonlocal looked
            looked = True
            if shell.as_json:
                print_json(snapshot)
            else:
                draw(_draw(snapshot))
            sys.stdout.flush()

        while True:
            try:
                return shell.ask(dsn, lambda services: _watch(services, show, None if once else pause), checks)
            except DatabaseUnavailable as error:
                if not looked:
                    raise
                draw(Text(f"The database does not answer, retrying: {shown(str(error))}"))
                time.sleep(pause)
            except KeyboardInterrupt:
                return None


@contextmanager
def _open_drawing(*, one: bool) -> Iterator[Draw]:
    """Return a function that draws on an alternate screen, or below the previous output without a terminal."""
    screen = console()
    if one or not screen.is_terminal or screen.is_dumb_terminal:
        yield screen.print
        return
    with Live(console=screen, screen=True, auto_refresh=False, vertical_overflow="ellipsis") as live:
        yield lambda drawing: live.update(drawing, refresh=True)


async def _watch(services: Services, show: Callable[[Snapshot], None], pause: float | None) -> None:
    await _read_and_show(services, show)
    while pause is not None:
        await asyncio.sleep(pause)
        await _read_and_show(services, show)


async def _read_and_show(services: Services, show: Callable[[Snapshot], None]) -> None:
    workers = await services.workers.list()
    failed = await services.tasks.list(TaskFilter(state="failed", limit=MOST_FAILURES))
    show(
        Snapshot(
            at=datetime.now(UTC),
            overview=await services.overview.show(),
            workers=workers,
            running=await services.workers.in_hand([worker.id for worker in workers], MOST_TASKS),
            failures=failed.items,
        )
    )


def _draw(snapshot: Snapshot) -> RenderableType:
    figures = snapshot.overview.figures
    ended = "-" if figures.ended_per_second is None else f"{figures.ended_per_second:.1f}"
    head = (
        f"{shown(snapshot.at)}   ready {figures.ready}   running {figures.running} of {figures.slots} slots of "
        f"{figures.workers} workers   ended/s {ended}   failed in the last hour {figures.failed_last_hour}"
    )
    return Group(
        Text(head),
        *(Text(shown(f"{alert.severity}: {alert.sentence}")) for alert in snapshot.overview.alerts),
        table_of(ROLES, (_row_of_role(snapshot, number) for number in range(len(snapshot.overview.roles))), "no roles"),
        table_of(WORKERS, (_row_of_worker(snapshot, worker) for worker in snapshot.workers), "no workers"),
        table_of(FAILURES, (_row_of_failure(snapshot, task) for task in snapshot.failures), "nothing has failed"),
    )


def _row_of_role(snapshot: Snapshot, number: int) -> tuple[object, ...]:
    role = snapshot.overview.roles[number]
    numbers = (role.ready, role.scheduled, role.running)
    return (
        role.role,
        "paused" if role.paused else "",
        *numbers,
        _age(snapshot, role.waiting_since),
        role.ended_per_second,
        role.workers,
    )


def _row_of_worker(snapshot: Snapshot, worker: RegisteredWorker) -> tuple[object, ...]:
    running = snapshot.running.get(worker.id, ())
    more = len(worker.running_tasks) - len(running)
    named = [f"{task.id} {task.handler} {_age(snapshot, task.started_at)}" for task in running]
    uses = ("" if share is None else f"{share:.0%}" for share in (worker.cpu, worker.memory))
    runs = ", ".join([*named, *([f"{more} more"] if more > 0 else [])])
    return (f"{worker.id} {worker.name}", worker.state, f"{len(worker.running_tasks)}/{worker.slots}", *uses, runs)


def _row_of_failure(snapshot: Snapshot, task: TaskSummary) -> tuple[object, ...]:
    error = (task.error or "").strip().splitlines()
    return (task.id, task.handler, f"{_age(snapshot, task.finished_at)} ago", error[0][:LONGEST_ERROR] if error else "")


def _age(snapshot: Snapshot, since: datetime | None) -> str:
    if since is None:
        return ""
    seconds = max(0, round((snapshot.at - since).total_seconds()))
    for unit, length in (("d", DAY), ("h", HOUR), ("m", MINUTE)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"
