"""A test bench for workers: a migrated database, an app for each test, and conditions to wait for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any

import psycopg

from rolecall import App, NewTask, Task, TaskState, Worker, WorkerOptions
from rolecall.db.run import run
from rolecall.sql import claims, enqueue, roles, tasks

PATIENCE = 30.0
SOON = 10.0  # a lease of a minute is renewed every quarter of it
# The last statements of a listener before it only listens or polls; it receives every later notification.
LISTENING = "select count(*) from pg_stat_activity where datname = current_database() and application_name like 'rolecall:worker:listen:%%' and query ~ '^(unlisten rolecall|select pg_listening)'"
END_LISTENER = f"select count(pg_terminate_backend(pid)) from ({LISTENING.replace('count(*)', 'pid')}) as listener"
# The registry row can exist before the worker knows it; a worker that knows it sends a heartbeat at once.
BEATEN = "select count(*) from rolecall.workers where heartbeat_at > started_at"

FINISHED = "select count(*) from rolecall.finished_tasks where id = any(%s)"


class Bench:
    """A bench that uses the engine's own calls on a connection separate from the worker's."""

    def __init__(self, dsn: str, connection: psycopg.Connection[Any]) -> None:
        self.dsn = dsn
        self.connection = connection
        self.app = App("test")
        # The first rescue only records when the server started; the next ones rescue.
        self.rescue()

    def enqueue(self, *wanted: NewTask) -> list[int]:
        """Declare the app's current definitions and store tasks."""
        run(self.connection, roles.declare(*self.app.declaration()))
        return [enqueued.id for enqueued in run(self.connection, enqueue.enqueue_many(wanted))]

    def task(self, task_id: int) -> Task:
        return run(self.connection, tasks.get(task_id))

    def cancel(self, task_id: int) -> None:
        run(self.connection, tasks.cancel([task_id]))

    def rescue(self) -> dict[int, TaskState]:
        return run(self.connection, claims.rescue())

    def ask(self, query: str, *params: object) -> Any:
        """Return the first column of the first row."""
        row = self.connection.execute(query.encode(), params).fetchone()
        return row[0] if row else None

    @asynccontextmanager
    async def working(self, **options: Any) -> AsyncIterator[Worker]:
        """Run a worker during the block, then stop it and wait for its exit."""
        worker = Worker(self.app, self.dsn, WorkerOptions(**({"maintenance": False} | options)))
        running = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            worker.stop()
            await asyncio.wait_for(running, PATIENCE)

    async def finished(self, *ids: int, within: float = PATIENCE) -> list[Task]:
        """Wait until every task has finished."""
        # One short query, because this runs in the worker's own loop.
        await until(lambda: self.ask(FINISHED, list(ids)) == len(ids), within)
        return [self.task(task_id) for task_id in ids]

    async def ended_once(self, task_id: int) -> None:
        """Wait until an attempt has ended without success."""
        await until(lambda: self.ask("select count(*) from rolecall.task_events where task_id = %s", task_id))

    async def state(self, task_id: int, wanted: str, within: float = PATIENCE) -> Task:
        """Wait until a task is in a state."""
        await until(lambda: self.task(task_id).state == wanted, within)
        return self.task(task_id)


async def until(fact: Callable[[], object], within: float = PATIENCE) -> None:
    """Wait until a condition holds. Fails at the deadline."""
    deadline = monotonic() + within
    while not fact():
        assert monotonic() < deadline, f"did not happen within {within:g} s"
        await asyncio.sleep(0.01)
