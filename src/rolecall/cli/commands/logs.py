"""`rolecall tasks logs` and `rolecall tasks stack`: the log lines of a task, and the stack of a running one."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from functools import partial
from typing import Annotated

from typer import Argument, Option

from rolecall.cli.output import print_line
from rolecall.cli.shell import Shell
from rolecall.config.logs import LogLevel
from rolecall.model.operator.logs import LogFilter, LogLine, StackReport
from rolecall.model.operator.pages import Page
from rolecall.service.services import Services

FOLLOW_EVERY = 1.0


def show(
    shell: Shell,
    task_id: Annotated[int, Argument(metavar="ID", help="The id of the task.")],
    *,
    attempt: Annotated[int | None, Option(help="Only the lines of this attempt.")] = None,
    level: Annotated[LogLevel | None, Option(help="The lowest level to show.")] = None,
    limit: Annotated[int, Option(help="The most lines to show, 1 to 1000; the last ones are shown.")] = 1_000,
    follow: Annotated[bool, Option("--follow", "-f", help="Show new lines until the task has finished.")] = False,
) -> None:
    which = LogFilter(attempt=attempt, level=None if level is None else level.value, limit=limit, last=True)
    if follow:
        shell.call(lambda services: _follow(shell, services, task_id, which))
        return
    page = shell.call(lambda services: services.tasks.logs(task_id, which))
    shell.show(page, lambda: _print_page(page))


def stack(shell: Shell, task_id: Annotated[int, Argument(metavar="ID", help="The id of the task.")]) -> None:
    report = shell.call(lambda services: services.tasks.request_stack(task_id))
    shell.show(report, lambda: print_line(_text_of(report)))


def _text_of(report: StackReport) -> str:
    if report.outcome == "not_running":
        return f"task {report.task_id} does not run"
    return report.stack or "the worker has not answered yet"


async def _follow(shell: Shell, services: Services, task_id: int, which: LogFilter) -> None:
    while True:
        # In this order: the lines of a finished task are complete soon after its end.
        has_finished = (await services.tasks.get(task_id)).is_finished
        page = await services.tasks.logs(task_id, which)
        if page.items:
            shell.show(page.items, partial(_print_lines, page.items))
        elif has_finished:
            return
        which = replace(which, cursor=page.next_cursor, limit=1_000, last=which.last and page.next_cursor is None)
        await asyncio.sleep(FOLLOW_EVERY)


def _print_page(page: Page[LogLine]) -> None:
    _print_lines(page.items)
    if not page.items:
        print_line("no log lines")


def _print_lines(lines: list[LogLine]) -> None:
    for line in lines:
        moment = line.at.isoformat(timespec="milliseconds")
        print_line(f"{moment} {line.attempt} {logging.getLevelName(line.level)} {line.logger} {line.message}")
