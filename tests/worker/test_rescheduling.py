"""A handler that sets the time of its next call: snoozed without cost, or failed with a cause."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from rolecall import Context, Retry, Snooze, exponential
from rolecall.testing import Clock
from tests.worker.bench import Bench

TOMORROW = datetime(2031, 5, 2, 6, 30, tzinfo=timezone(timedelta(hours=2)))
DUE = "select scheduled_for from rolecall.tasks where id = %s"
DELAY = "select extract(epoch from scheduled_for - rolecall.clock())::float8 from rolecall.tasks where id = %s"


async def test_snooze_until_a_time_refunds_the_attempt(bench: Bench) -> None:

    @bench.app.task
    async def later() -> Snooze:
        return Snooze(until=TOMORROW)

    (task_id,) = bench.enqueue(later.task())

    async with bench.working():
        await bench.ended_once(task_id)

    assert timedelta(0) <= bench.ask(DUE, task_id) - TOMORROW < timedelta(seconds=1)
    assert (bench.task(task_id).state, bench.task(task_id).attempt) == ("pending", 0)


async def test_snooze_until_a_past_time_runs_the_task_immediately(bench: Bench) -> None:

    @bench.app.task
    async def later(ctx: Context) -> Snooze | None:
        return Snooze(until=datetime(2001, 1, 1, tzinfo=UTC)) if ctx.fence == 1 else None

    (task_id,) = bench.enqueue(later.task())

    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert (task.state, task.fence) == ("completed", 2)
    assert task.scheduled_for > task.created_at


@pytest.mark.parametrize(
    ("when", "least", "most"),
    [({"after": 3600}, 3500, 3600), ({"at": datetime.now(UTC) + timedelta(days=1)}, 80_000, 86_400)],
)
async def test_retry_at_a_given_time_stores_its_cause_and_spends_the_attempt(
    bench: Bench, when: dict[str, Any], least: float, most: float
) -> None:

    @bench.app.task(max_attempts=3, retry=exponential(first=10))
    async def flaky() -> None:
        try:
            raise OSError("the upstream is closed for the night")
        except OSError as error:
            raise Retry(**when) from error

    (task_id,) = bench.enqueue(flaky.task())

    async with bench.working():
        await bench.ended_once(task_id)

    task = bench.task(task_id)
    assert (task.state, task.attempt) == ("pending", 1)
    assert (task.error or "").startswith("OSError: the upstream is closed for the night")
    assert "in flaky" in (task.error or "")
    assert least < bench.ask(DELAY, task_id) <= most


async def test_retry_without_a_cause_stores_its_own_message(bench: Bench) -> None:
    @bench.app.task(max_attempts=3)
    def flaky() -> None:
        raise Retry("the file is not there yet", after=3600)

    (task_id,) = bench.enqueue(flaky.task())

    async with bench.working():
        await bench.ended_once(task_id)

    assert "Retry: the file is not there yet" in (bench.task(task_id).error or "")


async def test_retry_at_the_last_attempt_fails_the_task(bench: Bench) -> None:
    @bench.app.task(max_attempts=1)
    async def flaky() -> None:
        raise Retry(after=0)

    (task_id,) = bench.enqueue(flaky.task())

    async with bench.working():
        (task,) = await bench.finished(task_id)

    assert (task.state, task.attempt) == ("failed", 1)


async def test_delays_are_computed_with_the_database_clock(bench: Bench, clock: Clock) -> None:
    clock.set(datetime(2031, 5, 2, 4, 0, tzinfo=UTC))

    @bench.app.task
    async def later() -> Snooze:
        return Snooze(until=TOMORROW)

    clock.follow(bench.connection)
    (task_id,) = bench.enqueue(later.task())

    async with bench.working():
        await bench.ended_once(task_id)

    assert (bench.ask(DUE, task_id), bench.ask(DELAY, task_id)) == (TOMORROW, 1800.0)
