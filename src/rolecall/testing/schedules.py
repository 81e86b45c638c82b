"""Fires due schedules at the current time of a test's clock, or throughout a period."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar, overload

import psycopg

from rolecall.app import App
from rolecall.db.connect import connect_async
from rolecall.db.run import run_async
from rolecall.maintenance.duties import fire
from rolecall.model.schedules import RunOutcome
from rolecall.model.tasks import Task
from rolecall.sql import tasks
from rolecall.sql.statement import Statement, single
from rolecall.testing.asking import in_a_loop, on_borrowed
from rolecall.testing.clock import Clock
from rolecall.testing.databases import dsn_of
from rolecall.worker.registration import declare_unchecked

T = TypeVar("T")
AsyncConnection = psycopg.AsyncConnection[Any]

LATEST_RUN: Statement[int] = Statement(
    query="select coalesce(max(id), 0) from rolecall.schedule_runs",
    read=single,
)
NEXT_RUN: Statement[datetime | None] = Statement(
    query="select min(next_run_at) from rolecall.schedules where enabled and next_run_at > rolecall.clock()",
    read=single,
)
Run = tuple[str, datetime, RunOutcome, int, int | None, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    """The outcome of a fire time, with its task if `outcome` is `enqueued`, or the existing task.

    `outcome` (enqueued, stood, skipped, missed or refused, with the error) and `missed` (how many fire times before it
    had no run) are those of `rolecall.model.schedules.ScheduleRun`.
    """

    schedule: str
    slot: datetime
    outcome: RunOutcome
    missed: int
    task: Task | None
    error: str | None


@overload
def fire_schedules(
    app: App,
    database: str | psycopg.Connection[Any],
    *,
    clock: Clock | None = None,
    until: datetime | timedelta | None = None,
) -> list[Fired]: ...


@overload
def fire_schedules(
    app: App, database: AsyncConnection, *, clock: Clock | None = None, until: datetime | timedelta | None = None
) -> Awaitable[list[Fired]]: ...


def fire_schedules(
    app: App,
    database: str | psycopg.Connection[Any] | AsyncConnection,
    *,
    clock: Clock | None = None,
    until: datetime | timedelta | None = None,
) -> list[Fired] | Awaitable[list[Fired]]:
    """Store the app's schedules if they are missing, fire those due by the clock, and return the outcomes.

        clock.set(MONDAY)
        fire_schedules(app, database)  # stores them: nothing of the past is due
        [nightly] = fire_schedules(app, database, clock=clock, until=timedelta(days=1))
        assert nightly.task.payload == {"day": "monday"}

    With `until` (a moment, or a time from now) and `clock`, the clock moves from one fire time to the next until then.
    No task runs in between, which matters for overlap policies; see `drain(..., schedules=True)`. With a connection,
    this is part of its transaction (await the call with an async one); with a connection string, it commits. Raises
    ValueError for `until` without `clock`.
    """
    if until is not None and clock is None:
        raise ValueError("until= needs clock=: time passes only when a clock is moved")

    def call(connection: AsyncConnection) -> Awaitable[list[Fired]]:
        return _fire(Session(connection), app, clock, until)

    if isinstance(database, psycopg.AsyncConnection):
        return call(database)
    if isinstance(database, psycopg.Connection):
        return in_a_loop(lambda: on_borrowed(database, call))
    return in_a_loop(lambda: _connection(dsn_of(database), call))


async def _connection(dsn: str, call: Callable[[AsyncConnection], Awaitable[T]]) -> T:
    async with await connect_async(dsn, "schedules") as connection:
        return await call(connection)


class Session:
    """The connection on which maintenance duties run."""

    def __init__(self, connection: AsyncConnection) -> None:
        self.connection = connection

    async def run(self, statement: Statement[T]) -> T:
        return await run_async(self.connection, statement)


async def _fire(session: Session, app: App, clock: Clock | None, until: datetime | timedelta | None) -> list[Fired]:
    await store_declarations(session, app)
    latest = await session.run(LATEST_RUN)
    await fire(session)
    if clock is not None and until is not None:
        end = clock.now() + until if isinstance(until, timedelta) else until
        while (slot := await next_run(session)) is not None and slot <= end:
            await _move(session, clock, slot)
            await fire(session)
        await _move(session, clock, max(end, clock.now()))
    runs = await session.run(_runs_after(latest))
    return [await _read_fired(session, run) for run in runs]


async def _move(session: Session, clock: Clock, moment: datetime) -> None:
    clock.set(moment)
    await clock.show(session.connection)


async def store_declarations(session: Session, app: App) -> None:
    """Store the app's declarations, as a worker does when it starts."""
    app.check()
    await declare_unchecked(session, app)


async def next_run(session: Session) -> datetime | None:
    """Return when the next schedule fires, or None."""
    return await session.run(NEXT_RUN)


def _runs_after(latest: int) -> Statement[list[Run]]:
    return Statement(
        query="select schedule.name, run.slot, run.outcome, run.missed, run.task_id, run.error"
        " from rolecall.schedule_runs as run join rolecall.schedules as schedule on schedule.id = run.schedule_id"
        " where run.id > %s::bigint and run.slot is not null order by run.id",
        params=(latest,),
        read=lambda rows: [(*row,) for row in rows],
    )


async def _read_fired(session: Session, run: Run) -> Fired:
    schedule, slot, outcome, missed, task_id, error = run
    fired = Fired(schedule=schedule, slot=slot, outcome=outcome, missed=missed, task=None, error=error)
    if task_id is None:
        return fired
    task: Task = await session.run(tasks.get(task_id))
    return replace(fired, task=task)
