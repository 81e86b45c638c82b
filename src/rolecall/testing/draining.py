"""Run an app's tasks in the test's own process until nothing is left to do."""

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
from rolecall.testing.schedules import Session, declared, next_run
from rolecall.worker.options import WorkerOptions
from rolecall.worker.worker import Worker

__all__ = ["Drained", "drain", "drain_sync", "working"]

AsyncConnection = psycopg.AsyncConnection[Any]
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
LATER = """\
select min(scheduled_for), count(*) from rolecall.tasks
where state = 'pending' and scheduled_for > rolecall.clock()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """How far a drain went: from when to when by the database's clock, in how many `moves` of it.

    `later` is how many tasks are due after that.
    """

    began: datetime
    ended: datetime
    moves: int
    later: int


async def drain(  # sizes: each is a word of the call
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

    By a clock that a test has stopped, what is due later stays. With that `clock` in its hand, it moves the clock to
    the next due task, and on from there until no task is left: retries, snoozes, and what was enqueued for later. With
    `until` (a moment, or how much time passes) it goes no further than that, where the clock stands in the end; with
    `schedules` as well, those of the database fire on the way, when they are due. Raises TimeoutError after `timeout`
    seconds of real time, which names what is still open and how far it came, and ValueError for `until` without a
    clock and `schedules` without `until`.
    """
    if until is not None and clock is None:
        raise ValueError("until= needs clock=: no time passes but by a clock that is moved")
    if schedules and until is None:
        raise ValueError("schedules=True needs until=: schedules never come to an end")
    passing = None if clock is None else Passing(clock, until)
    try:
        async with asyncio.timeout(timeout) as limit, await connect_async(dsn_of(dsn), "draining") as connection:
            began = await run_async(connection, present()) if passing is None else passing.begin(connection)
            if schedules:
                await declared(Session(connection), app)
            await _work_off(app, dsn, options, connection, schedules=schedules)
            while passing is not None and passing.go_on(await _next(connection, schedules=schedules)):
                await _work_off(app, dsn, options, connection, schedules=schedules)
            ended = await run_async(connection, present())
            _, later = await _later(connection)
            return Drained(began=began, ended=ended, moves=0 if passing is None else passing.moves, later=later)
    except TimeoutError:
        if limit.expired():
            raise TimeoutError(await _told(dsn, timeout, passing)) from None
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
    """Do what `drain` does from plain code, in a loop of its own."""
    return in_a_loop(lambda: drain(app, dsn, options, timeout=timeout, clock=clock, until=until, schedules=schedules))


@asynccontextmanager
async def working(app: App, dsn: str, options: WorkerOptions | None = None) -> AsyncIterator[Worker]:
    """Have a worker run beside the test; it stops, and its errors are raised, when the block ends."""
    worker = Worker(app, dsn_of(dsn), options or WorkerOptions(slots=4, maintenance=False, poll_interval=0.2))
    running = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        worker.stop()
        await running


class Passing:
    """Time that passes by moves of a clock, from one thing that is due to the next, until a moment."""

    def __init__(self, clock: Clock, until: datetime | timedelta | None) -> None:
        self._clock = clock
        self._until = until
        self._end: datetime | None = None
        self.moves = 0

    def begin(self, connection: AsyncConnection) -> datetime:
        """Stop the clock where it is, and have it shown to the connection."""
        began = self._clock.set(self._clock.now())
        self._end = began + self._until if isinstance(self._until, timedelta) else self._until
        self._clock.follow(connection)
        return began

    def go_on(self, due: datetime | None) -> bool:
        """Move the clock to what is due next; false if that comes after the end, where the clock stands then."""
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
    """Have a worker do what is due at this moment, by this clock."""
    if schedules:
        await fire(Session(connection))
    # A worker for each moment: its sessions know of no move of the clock.
    async with working(app, dsn, options):
        while await _open_tasks(connection):  # noqa: ASYNC110 - the fact stands in the database
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


async def _told(dsn: str, seconds: float, passing: Passing | None) -> str:
    async with await connect_async(dsn_of(dsn), "draining") as connection:
        open_tasks = await _open_tasks(connection)
    named = ", ".join(map(_named, open_tasks[:MOST_NAMED])) or "only the worker itself"
    more = " and more" if len(open_tasks) > MOST_NAMED else ""
    return f"still open after {seconds:g} s{passing or ''}: {named}{more}"


def _named(task: OpenTask) -> str:
    task_id, handler, state, error = task
    headline = f", last error {error.partition(chr(10))[0]!r}" if error else ""
    return f"task {task_id} ({handler}, {state}{headline})"
