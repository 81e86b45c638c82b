"""Run an app's tasks in the test's own process until nothing is left to do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg

from rolecall.app import App
from rolecall.db.connect import connect_async
from rolecall.worker.options import WorkerOptions
from rolecall.worker.worker import Worker

OpenTask = tuple[int, str, str, str | None]

LOOK_SECONDS = 0.02
MOST_NAMED = 20  # one less than the query reads
# What is due, runs, or will be due soon enough to wait for; by a clock that stands still, nothing becomes due.
OPEN = """\
select task.id, line.handler, task.state::text, task.error
from rolecall.tasks as task
join rolecall.lines as line on line.id = task.line_id
where state = 'running'
    or state = 'pending' and scheduled_for <= rolecall.clock() + case
        when coalesce(current_setting('rolecall.fake_now', true), '') = '' then interval '5 s'
        else interval '0 s'
    end
order by task.id
limit 21
"""


async def drain(app: App, dsn: str, options: WorkerOptions | None = None, *, timeout: float = 30.0) -> None:
    """Run a worker until no task runs, is due, or becomes due within five seconds.

    By a clock that a test has stopped, what is due later stays. Raises TimeoutError after `timeout` seconds, which
    names what is still open.
    """
    try:
        async with (
            asyncio.timeout(timeout) as limit,
            working(app, dsn, options),
            await connect_async(dsn, "draining") as connection,
        ):
            while await _open_tasks(connection):  # noqa: ASYNC110 - the fact stands in the database
                await asyncio.sleep(LOOK_SECONDS)
    except TimeoutError:
        if limit.expired():
            raise TimeoutError(await _told(dsn, timeout)) from None
        raise


@asynccontextmanager
async def working(app: App, dsn: str, options: WorkerOptions | None = None) -> AsyncIterator[Worker]:
    """Have a worker run beside the test; it stops, and its errors are raised, when the block ends."""
    worker = Worker(app, dsn, options or WorkerOptions(slots=4, maintenance=False, poll_interval=0.2))
    running = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        worker.stop()
        await running


async def _open_tasks(connection: psycopg.AsyncConnection[Any]) -> list[OpenTask]:
    cursor = await connection.execute(OPEN)
    return await cursor.fetchall()


async def _told(dsn: str, seconds: float) -> str:
    async with await connect_async(dsn, "draining") as connection:
        open_tasks = await _open_tasks(connection)
    named = ", ".join(map(_named, open_tasks[:MOST_NAMED])) or "only the worker itself"
    more = " and more" if len(open_tasks) > MOST_NAMED else ""
    return f"still open after {seconds:g} s: {named}{more}"


def _named(task: OpenTask) -> str:
    task_id, handler, state, error = task
    headline = f", last error {error.partition(chr(10))[0]!r}" if error else ""
    return f"task {task_id} ({handler}, {state}{headline})"
