"""Run an app's tasks in the test's process until none is left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import psycopg

from rolecall.app import App
from rolecall.db.connect import connect_async
from rolecall.db.run import run_async
from rolecall.maintenance.duties import fire
from rolecall.sql.schedules import present
from rolecall.testing.asking import in_a_loop
from rolecall.testing.clock import Clock
from rolecall.testing.databases import dsn_of
from rolecall.testing.real_time import real_time
from rolecall.testing.schedules import Session, next_run, store_declarations
from rolecall.worker.options import WorkerOptions
from rolecall.worker.worker import Worker

AsyncConnection = psycopg.AsyncConnection[Any]
OpenTask = tuple[int, str, str, str | None]

LOOK_SECONDS = 0.02
MOST_NAMED = 20  # one fewer than the query's limit
# Tasks that run, are due, or will be due within five seconds. By a stopped clock, no task becomes due.
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
LATER = """\
select min(scheduled_for), count(*) from rolecall.tasks
where state = 'pending' and scheduled_for > rolecall.clock()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """The course of a drain: its start and end by the database's clock, and the number of times it moved that clock.

    `later` is the number of tasks that are due after the end.
    """

    began: datetime
    ended: datetime
    moves: int
    later: int


async def drain(  # sizes: each is an argument of the call
    app: App,
    dsn: str,
    options: WorkerOptions | None = None,
    *,
    timeout: float = 30.0,
    clock: Clock | None = None,
    until: datetime | timedelta | None = None,
    schedules: bool = False,
) -> Drained:
    """Run a worker until no task runs, is due, or becomes due within five seconds.

        await drain(app, database, clock=clock)  # five attempts with an hour between them take no time

    By a clock that the test has stopped, later tasks do not run. With `clock`, drain moves it from one due time to the
    next until no task is left, including retries, snoozes and scheduled tasks. `until` (a moment, or a time from now)
    limits this; the clock stops there. With `schedules`, the database's schedules fire on the way.

    Raises TimeoutError after `timeout` seconds of real time, also if the test has frozen `time`, and names the open
    tasks. Raises ValueError for `until` without `clock` or `schedules` without `until`.
    """
    if until is not None and clock is None:
        raise ValueError("until= needs clock=: time passes only when a clock is moved")
    if schedules and until is None:
        raise ValueError("schedules=True needs until=: schedules never end")
    mover = None if clock is None else ClockMover(clock, until)
    with real_time():
        return await _drain(app, dsn, options, timeout=timeout, mover=mover, schedules=schedules)


async def _drain(
    app: App, dsn: str, options: WorkerOptions | None, *, timeout: float, mover: ClockMover | None, schedules: bool
) -> Drained:
    try:
        async with asyncio.timeout(timeout) as limit, await connect_async(dsn_of(dsn), "draining") as connection:
            began = await run_async(connection, present()) if mover is None else mover.begin(connection)
            if schedules:
                await store_declarations(Session(connection), app)
            await _work_off(app, dsn, options, connection, schedules=schedules)
            while mover is not None and mover.advance(await _next(connection, schedules=schedules)):
                await _work_off(app, dsn, options, connection, schedules=schedules)
            ended = await run_async(connection, present())
            _, later = await _later(connection)
            return Drained(began=began, ended=ended, moves=0 if mover is None else mover.moves, later=later)
    except TimeoutError:
        if limit.expired():
            raise TimeoutError(await _timeout_message(dsn, timeout, mover)) from None
        raise


def drain_sync(  # sizes: those of `drain`
    app: App,
    dsn: str,
    options: WorkerOptions | None = None,
    *,
    timeout: float = 30.0,
    clock: Clock | None = None,
    until: datetime | timedelta | None = None,
    schedules: bool = False,
) -> Drained:
    """Do the same as `drain`, but synchronously, in an event loop of its own."""
    return in_a_loop(lambda: drain(app, dsn, options, timeout=timeout, clock=clock, until=until, schedules=schedules))


@asynccontextmanager
async def working(app: App, dsn: str, options: WorkerOptions | None = None) -> AsyncIterator[Worker]:
    """Run a worker in the background. When the block ends, it is stopped and its errors are raised."""
    worker = Worker(app, dsn_of(dsn), options or WorkerOptions(slots=4, maintenance=False, poll_interval=0.2))
    with real_time():
        running = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            worker.stop()
            await running


class ClockMover:
    """Moves a clock from one due time to the next, up to an end."""

    def __init__(self, clock: Clock, until: datetime | timedelta | None) -> None:
        self._clock = clock
        self._until = until
        self._end: datetime | None = None
        self.moves = 0

    def begin(self, connection: AsyncConnection) -> datetime:
        """Stop the clock at the current time and let the connection follow it."""
        began = self._clock.set(self._clock.now())
        self._end = began + self._until if isinstance(self._until, timedelta) else self._until
        self._clock.follow(connection)
        return began

    def advance(self, due: datetime | None) -> bool:
        """Move the clock to the next due time. If that is after the end, move it to the end and return False."""
        if due is not None and (self._end is None or due <= self._end):
            self._clock.set(due)
            self.moves += 1
            return True
        if self._end is not None and self._end > self._clock.now():
            self._clock.set(self._end)
        return False

    def __str__(self) -> str:
        return f", after {self.moves} moves of the clock to {self._clock.now().isoformat()}"


async def _work_off(
    app: App, dsn: str, options: WorkerOptions | None, connection: AsyncConnection, *, schedules: bool
) -> None:
    if schedules:
        await fire(Session(connection))
    # A new worker for each moment, because open sessions do not see the clock move.
    async with working(app, dsn, options):
        while await _open_tasks(connection):  # noqa: ASYNC110 - the state is in the database
            await asyncio.sleep(LOOK_SECONDS)


async def _next(connection: AsyncConnection, *, schedules: bool) -> datetime | None:
    due, _ = await _later(connection)
    slot = await next_run(Session(connection)) if schedules else None
    return min(filter(None, (due, slot)), default=None)


async def _later(connection: AsyncConnection) -> tuple[datetime | None, int]:
    cursor = await connection.execute(LATER)
    [(due, number)] = await cursor.fetchall()
    return due, number


async def _open_tasks(connection: AsyncConnection) -> list[OpenTask]:
    cursor = await connection.execute(OPEN)
    return await cursor.fetchall()


async def _timeout_message(dsn: str, seconds: float, mover: ClockMover | None) -> str:
    async with await connect_async(dsn_of(dsn), "draining") as connection:
        open_tasks = await _open_tasks(connection)
    texts = ", ".join(map(_describe, open_tasks[:MOST_NAMED])) or "only the worker itself"
    more = " and more" if len(open_tasks) > MOST_NAMED else ""
    return f"still open after {seconds:g} s{mover or ''}: {texts}{more}"


def _describe(task: OpenTask) -> str:
    task_id, handler, state, error = task
    headline = f", last error {error.partition(chr(10))[0]!r}" if error else ""
    return f"task {task_id} ({handler}, {state}{headline})"
