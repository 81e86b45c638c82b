"""A test's worker works until nothing is left that may run now, and tells what keeps it longer."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rolecall import App, Client, Task, linear
from rolecall.testing import Clock, drain

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


def enqueued(app: App, database: str, handler: str, **payload: object) -> int:
    with Client(database, app=app) as client:
        return client.enqueue(handler, payload).id


def read(database: str, task_id: int) -> Task:
    with Client(database) as client:
        return client.get(task_id)


async def test_it_ends_under_a_stopped_clock_though_a_task_comes_again_later(
    app: App, database: str, clock: Clock
) -> None:
    clock.set(START)
    task_id = enqueued(app, database, "stumble")

    await drain(app, database)

    assert (read(database, task_id).state, read(database, task_id).attempt) == ("pending", 1)


async def test_it_goes_on_with_what_is_due_when_the_clock_was_moved(app: App, database: str, clock: Clock) -> None:
    clock.set(START)
    task_id = enqueued(app, database, "stumble")
    await drain(app, database)

    clock.advance(seconds=1)
    await drain(app, database)

    assert (read(database, task_id).state, read(database, task_id).attempt) == ("failed", 2)


async def test_by_a_clock_that_runs_it_waits_for_a_task_that_comes_again_soon(app: App, database: str) -> None:
    task_id = enqueued(app, database, "stumble")

    await drain(app, database)

    assert read(database, task_id).state == "failed"


async def test_it_says_what_is_still_open_when_its_time_is_over(app: App, database: str) -> None:
    task_id = enqueued(app, database, "add", a=1, b=2)

    with pytest.raises(TimeoutError, match=rf"still open after 2 s: task {task_id} \(add, pending\)"):
        await drain(App("another"), database, timeout=2)
