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

LOOK_SECONDS = 0.02
# What is due, runs, or will be due soon enough to wait for.
OPEN = """\
select count(*)
from rolecall.tasks
where state = 'running' or (state = 'pending' and scheduled_for <= rolecall.clock() + interval '5 s')
"""


async def drain(app: App, dsn: str, options: WorkerOptions | None = None, *, timeout: float = 30.0) -> None:
    """Run a worker until no task runs, is due, or becomes due within five seconds.

    Raises TimeoutError after `timeout` seconds.
    """
    async with (
        asyncio.timeout(timeout),
        working(app, dsn, options),
        await connect_async(dsn, "draining") as connection,
    ):
        while await _open_tasks(connection):  # noqa: ASYNC110 - the fact stands in the database
            await asyncio.sleep(LOOK_SECONDS)


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


async def _open_tasks(connection: psycopg.AsyncConnection[Any]) -> int:
    cursor = await connection.execute(OPEN)
    row = await cursor.fetchone()
    return int(row[0]) if row else 0
