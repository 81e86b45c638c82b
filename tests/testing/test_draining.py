"""A test worker runs until idle and reports open tasks."""

from __future__ import annotations

import asyncio
import sys
import time
from datetime import UTC, datetime, timedelta

import pytest

from rolecall import App, Client, Context, Snooze, Task, WorkerOptions, linear
from rolecall.testing import Clock, drain, drain_sync

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def app() -> App:
    app = App("test")

    @app.task(retry=linear(step=1, cap=1), max_attempts=2)
    async def stumble() -> None:
        raise ValueError("over a stone")

    @app.task
    async def add(a: int, b: int) -> int:
        return a + b

    return app


@pytest.fixture
def frozen_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the time of this process, as freezegun does."""
    real = time.monotonic
    for module in list(sys.modules.values()):
        if module.__name__.startswith(("rolecall", "time")) and vars(module).get("monotonic") is real:
            monkeypatch.setattr(module, "monotonic", lambda: 1_893_456_000.0)


def enqueued(app: App, database: str, handler: str, **payload: object) -> int:
    with Client(database, app=app) as client:
        return client.enqueue(handler, payload).id


def read(database: str, task_id: int) -> Task:
    with Client(database) as client:
        return client.get(task_id)


async def test_drain_ends_with_a_stopped_clock_although_a_retry_is_pending(
    app: App, database: str, clock: Clock
) -> None:
    clock.set(START)
    task_id = enqueued(app, database, "stumble")

    await drain(app, database)

    assert (read(database, task_id).state, read(database, task_id).attempt) == ("pending", 1)


async def test_drain_continues_with_due_tasks_after_the_clock_moved(app: App, database: str, clock: Clock) -> None:
    clock.set(START)
    task_id = enqueued(app, database, "stumble")
    await drain(app, database)

    clock.advance(seconds=1)
    await drain(app, database)

    assert (read(database, task_id).state, read(database, task_id).attempt) == ("failed", 2)


async def test_drain_with_a_running_clock_waits_for_an_imminent_retry(app: App, database: str) -> None:
    task_id = enqueued(app, database, "stumble")

    await drain(app, database)

    assert read(database, task_id).state == "failed"


async def test_drain_names_open_tasks_at_its_timeout(app: App, database: str) -> None:
    task_id = enqueued(app, database, "add", a=1, b=2)

    with pytest.raises(TimeoutError, match=rf"still open after 2 s: task {task_id} \(add, pending\)"):
        await drain(App("another"), database, timeout=2)


async def test_drain_given_the_clock_advances_it_from_attempt_to_attempt(app: App, database: str, clock: Clock) -> None:
    moments: list[datetime] = []

    @app.task(retry=linear(step=3600, cap=86_400), max_attempts=5)
    async def hourly(ctx: Context) -> str:
        moments.append(clock.now())
        if ctx.attempt < 5:
            raise ValueError("over a stone")
        return "arrived"

    clock.set(START)
    task_id = enqueued(app, database, "hourly")

    went = await drain(app, database, clock=clock)

    task = read(database, task_id)
    assert (task.state, task.attempt, task.result) == ("completed", 5, "arrived")
    assert [moment - START for moment in moments] == [timedelta(hours=hours) for hours in (0, 1, 3, 6, 10)]
    assert (went.began, went.ended, went.moves, went.later) == (START, clock.now(), 4, 0)
    assert clock.now() == task.finished_at == START + timedelta(hours=10)


async def test_delayed_and_snoozed_tasks_become_due_in_turn(app: App, database: str, clock: Clock) -> None:
    order: list[str] = []

    @app.task
    async def note(name: str, wait: float = 0) -> Snooze | None:
        order.append(name)
        return Snooze(wait) if wait and order.count(name) == 1 else None

    clock.set(START)
    with Client(database, app=app) as client:
        client.enqueue(note.task(name="tomorrow").options(after=timedelta(days=1)))
        client.enqueue(note.task(name="in an hour").options(after=3600))
        client.enqueue(note.task(name="snoozes", wait=7200))

    await drain(app, database, clock=clock)

    assert order == ["snoozes", "in an hour", "snoozes", "tomorrow"]


async def test_drain_stops_at_the_given_time_and_reports_remaining_tasks(app: App, database: str, clock: Clock) -> None:
    clock.set(START)
    with Client(database, app=app) as client:
        ids = [client.enqueue("add", {"a": n, "b": 0}, after=timedelta(hours=n)).id for n in range(4)]

    went = await drain(app, database, clock=clock, until=timedelta(hours=2, minutes=30))

    assert [read(database, task_id).state for task_id in ids] == ["completed", "completed", "completed", "pending"]
    assert (went.ended, went.moves, went.later) == (START + timedelta(hours=2, minutes=30), 2, 1)
    assert clock.now() == went.ended


async def test_schedules_fire_during_a_drain(app: App, database: str, clock: Clock) -> None:
    days: list[datetime] = []

    @app.task
    async def nightly() -> None:
        days.append(clock.now())

    app.schedule("nightly", nightly, cron="0 4 * * *", overlap="skip")
    clock.set(START)

    await drain(app, database, clock=clock, until=timedelta(days=3), schedules=True)

    assert days == [START + timedelta(days=day, hours=4) for day in range(3)]


def test_sync_code_can_drain_too_even_within_a_loop(app: App, database: str) -> None:
    task_id = enqueued(app, database, "add", a=1, b=2)

    async def within_a_loop() -> None:
        drain_sync(app, database)

    asyncio.run(within_a_loop())

    assert read(database, task_id).result == 3


async def test_endless_task_is_reported_with_the_simulated_time(app: App, database: str, clock: Clock) -> None:
    @app.task
    async def poll() -> Snooze:
        return Snooze(60)

    clock.set(START)
    enqueued(app, database, "poll")

    with pytest.raises(TimeoutError, match=r"still open after 2 s, after \d+ moves of the clock to 2026-01-01T"):
        await drain(app, database, clock=clock, timeout=2)


async def test_drain_without_a_clock_does_not_advance_time(app: App, database: str, clock: Clock) -> None:
    with pytest.raises(ValueError, match="until= needs clock="):
        await drain(app, database, until=timedelta(days=1))
    with pytest.raises(ValueError, match="schedules=True needs until="):
        await drain(app, database, clock=clock, schedules=True)


@pytest.mark.usefixtures("frozen_time")
async def test_drain_ends_with_frozen_time(app: App, database: str, clock: Clock) -> None:
    task_ids = [enqueued(app, database, "add", a=1, b=2), enqueued(app, database, "stumble")]

    await drain(app, database, clock=clock)

    assert [read(database, task_id).state for task_id in task_ids] == ["completed", "failed"]


@pytest.mark.usefixtures("frozen_time")
async def test_drain_with_frozen_time_aborts_an_endless_task_at_its_timeout(app: App, database: str) -> None:
    @app.task
    async def endless() -> None:
        await asyncio.Event().wait()

    task_id = enqueued(app, database, "endless")

    with pytest.raises(TimeoutError, match=rf"still open after 2 s: task {task_id}"):
        await drain(app, database, WorkerOptions(grace=0.1, maintenance=False), timeout=2)


@pytest.mark.usefixtures("frozen_time")
def test_drain_sync_ends_with_frozen_time(app: App, database: str) -> None:
    task_id = enqueued(app, database, "add", a=1, b=2)

    drain_sync(app, database)

    assert read(database, task_id).result == 3
