"""`rolecall enqueue`: enqueue a task and optionally wait for it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from typer import Argument, Option

from rolecall.cli.commands.tasks import print_task
from rolecall.cli.options import choice
from rolecall.cli.output import print_line
from rolecall.cli.shell import Shell
from rolecall.cli.values import read_date, read_duration, read_payload, read_when
from rolecall.model.dedupe import Dedupe, DedupeMode, DedupeScope
from rolecall.model.errors import RolecallError
from rolecall.model.states import TaskState
from rolecall.model.tasks import Enqueued, NewTask, Task
from rolecall.service.services import Services


def enqueue(  # sizes: each is an option of the command
    shell: Shell,
    handler: Annotated[str, Argument(help="The handler.")],
    payload: Annotated[str, Argument(help="A JSON object, @FILE, or - for stdin.")] = "{}",
    *,
    role: Annotated[str | None, Option(help="The role; by default the handler's own.")] = None,
    priority: Annotated[int, Option(help="-100 to 100, higher first.")] = 0,
    at: Annotated[str | None, Option(metavar="DATE", help="Start at this ISO 8601 date or time, or later.")] = None,
    after: Annotated[str | None, Option(metavar="DURATION", help="Start after this time: 90, 15m, 4h.")] = None,
    key: Annotated[str | None, Option(help="The key, which limits concurrency.")] = None,
    dedupe_key: Annotated[str | None, Option(help="Unique among the open tasks of the handler.")] = None,
    dedupe_mode: Annotated[
        DedupeMode, choice(DedupeMode, help="What to do if a task with the dedupe key exists.")
    ] = "keep",
    dedupe_scope: Annotated[
        DedupeScope | None, choice(DedupeScope, help="Which tasks count: open ones, pending ones, or any.")
    ] = None,
    window: Annotated[str | None, Option(metavar="DURATION", help="The window of the scope any.")] = None,
    max_attempts: Annotated[int | None, Option(help="The maximum number of attempts; 0 = unlimited.")] = None,
    timeout: Annotated[str | None, Option(metavar="DURATION", help="The longest duration of an attempt.")] = None,
    expires: Annotated[
        str | None,
        Option(metavar="WHEN", help="Cancel it unless it starts this long after it is due, or by a date."),
    ] = None,
    needs: Annotated[
        list[int] | None, Option(metavar="ID", help="Start after this task has completed. Repeatable.")
    ] = None,
    wait: Annotated[str | None, Option(metavar="DURATION", help="Wait up to this long for the task to finish.")] = None,
) -> None:
    task = NewTask(
        handler=handler,
        role=role,
        payload=read_payload(payload),
        priority=priority,
        scheduled_for=None if at is None else read_date(at),
        after=None if after is None else read_duration(after, "--after"),
        key=key,
        dedupe_key=dedupe_key,
        dedupe=_dedupe(dedupe_mode, dedupe_scope, window),
        max_attempts=max_attempts,
        timeout=None if timeout is None else read_duration(timeout, "--timeout"),
        expires=None if expires is None else read_when(expires, "--expires"),
        needs=needs or (),
    )
    seconds = None if wait is None else read_duration(wait, "--wait")
    enqueued, finished = shell.call(lambda services: _enqueue(services, task, seconds))
    shell.show(_document(enqueued, finished), lambda: _print(enqueued, finished))
    if finished is not None and finished.state is not TaskState.COMPLETED:
        raise RolecallError(f"task {finished.id} {finished.state}: {finished.error or 'no reason given'}")


def _dedupe(mode: DedupeMode, scope: DedupeScope | None, window: str | None) -> Dedupe | None:
    if (mode, scope, window) == ("keep", None, None):
        return None
    return Dedupe(mode=mode, scope=scope, window=None if window is None else read_duration(window, "--window"))


async def _enqueue(services: Services, task: NewTask, seconds: float | None) -> tuple[Enqueued, Task | None]:
    await services.handlers.require_fit(task)
    enqueued = await services.tasks.enqueue(task)
    if seconds is None:
        return enqueued, None
    return enqueued, await services.tasks.wait(enqueued.id, seconds)


def _document(enqueued: Enqueued, finished: Task | None) -> dict[str, Any]:
    return asdict(enqueued) | ({} if finished is None else {"task": asdict(finished)})


def _print(enqueued: Enqueued, finished: Task | None) -> None:
    stood = " already exists" if enqueued.deduplicated else " enqueued"
    print_line(f"task {enqueued.id}{stood}")
    if finished is not None:
        print_task(finished)
