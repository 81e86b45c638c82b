"""A task that has expired is cancelled instead of started."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any, cast

import pytest

from rolecall import Event, EventType
from rolecall.model.tasks import ClaimedTask
from rolecall.worker.in_flight import HeldTask
from rolecall.worker.local_queue import LocalQueue
from tests.worker.bench import Bench, until


class Told:
    """A sink that stores the outcomes of tasks."""

    event_types = (EventType.JOB_CANCELLED,)

    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        self.events.append(event)


async def test_expired_task_is_cancelled_even_with_a_worker_running(bench: Bench) -> None:
    ran: list[str] = []
    result = Told()
    bench.app.add_sink(result)

    @bench.app.task
    async def push(text: str) -> None:
        ran.append(text)

    late, alive = bench.enqueue(
        push.task(text="late").options(expires=datetime.now(UTC) - timedelta(seconds=1)),
        push.task(text="alive").options(expires=3600),
    )
    async with bench.working(maintenance=True):
        [cancelled, _] = await bench.finished(late, alive)
        await until(lambda: result.events)

    assert ran == ["alive"]
    assert (cancelled.state, cancelled.attempt) == ("cancelled", 0)
    assert cancelled.error is not None
    assert cancelled.error.startswith("it expired at ")
    assert [event.error for event in result.events] == [cancelled.error]


async def test_handler_declares_the_expiry_of_its_tasks(bench: Bench) -> None:
    @bench.app.task(expires=timedelta(minutes=5))
    async def push() -> None: ...

    [task_id] = bench.enqueue(push.task())

    task = bench.task(task_id)
    assert task.expires_at == task.scheduled_for + timedelta(minutes=5)


def held(number: int, *, max_attempts: int = 0, expires_seconds: float | None = None) -> HeldTask:
    now = datetime.now(UTC)
    task = ClaimedTask(
        number,
        1,
        1,
        max_attempts,
        "r",
        "h",
        0,
        "{}",
        None,
        number,
        0,
        now,
        now,
        60.0,
        60.0,
        expires_seconds=expires_seconds,
    )
    return HeldTask(task, cast("Any", None), 1, monotonic())


@pytest.mark.parametrize("most", [None, 2])
async def test_prefetched_task_that_has_expired_is_returned(most: int | None) -> None:
    """Covers single tasks, and those of a partial batch."""
    given_back: list[HeldTask] = []
    queue = LocalQueue(given_back.extend)
    late, alive, other = held(1, expires_seconds=-0.1), held(2, expires_seconds=60), held(3)
    queue.put([late, alive])

    taken = queue.take() if most is None else queue.take_like(other, most)

    assert taken == (alive if most is None else [alive])
    assert given_back == [late]


async def test_expired_task_with_only_one_attempt_is_returned() -> None:
    """It counts from its claim, but its handler has not begun."""
    given_back: list[HeldTask] = []
    queue = LocalQueue(given_back.extend)
    late = held(1, max_attempts=1, expires_seconds=-0.1)
    queue.put([late])

    assert late.is_started
    assert (queue.take(), given_back) == (None, [late])
