"""Schedules fire in a test as in production, at the current time of a test's clock or throughout a period."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from rolecall import App, Context
from rolecall.testing import Clock, assert_enqueued, assert_not_enqueued, fire_schedules, inline

Connection = psycopg.Connection[Any]
MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
FOUR = timedelta(hours=4)


@pytest.fixture
def app() -> App:
    app = App("shop")

    @app.task
    async def report(kind: str) -> str:
        return kind

    app.schedule("nightly", report, cron="0 4 * * *", payload={"kind": "day"})
    app.schedule("weekly", report, cron="0 4 * * MON", payload={"kind": "week"})
    return app


def test_due_schedule_fires_and_enqueues_its_task(app: App, database: str, clock: Clock) -> None:
    clock.set(MONDAY)
    assert fire_schedules(app, database) == []

    clock.advance(hours=5)
    fired = fire_schedules(app, database)

    assert [(each.schedule, each.slot, each.outcome) for each in fired] == [
        ("nightly", MONDAY + FOUR, "enqueued"),
        ("weekly", MONDAY + FOUR, "enqueued"),
    ]
    assert [each.task and each.task.payload for each in fired] == [{"kind": "day"}, {"kind": "week"}]
    assert fire_schedules(app, database) == []


def test_fire_times_of_a_week_are_passed_in_order(app: App, database: str, clock: Clock) -> None:
    clock.set(MONDAY)

    fired = fire_schedules(app, database, clock=clock, until=timedelta(days=7))

    nightly = [each.slot for each in fired if each.schedule == "nightly"]
    assert nightly == [MONDAY + timedelta(days=day) + FOUR for day in range(7)]
    assert sum(each.schedule == "weekly" for each in fired) == 1
    assert {each.missed for each in fired} == {0}
    assert clock.now() == MONDAY + timedelta(days=7)
    assert_enqueued(database, "report", kind="day", times=7)


def test_fire_times_missed_since_the_last_call_count_as_in_production(app: App, database: str, clock: Clock) -> None:
    clock.set(MONDAY)
    fire_schedules(app, database)
    clock.advance(days=3)

    nightly, _ = fire_schedules(app, database)

    assert (nightly.slot, nightly.missed) == (MONDAY + timedelta(days=2) + FOUR, 2)


def test_handler_knows_the_time_that_its_schedule_planned(connection: Connection, clock: Clock) -> None:
    app = App("shop")

    @app.task
    async def report(ctx: Context) -> str:
        return ctx.scheduled_for.isoformat()

    app.schedule("nightly", report, cron="0 4 * * *")
    clock.set(MONDAY)
    fire_schedules(app, connection)
    clock.advance(hours=5)
    fire_schedules(app, connection)

    [task] = inline(app, connection)

    assert (task.result, task.fire_time) == ((MONDAY + FOUR).isoformat(), MONDAY + FOUR)


def test_run_is_skipped_while_the_last_one_is_open(database: str, clock: Clock) -> None:
    app = App("shop")

    @app.task
    async def collect() -> None: ...

    app.schedule("hourly", collect, every=3600, overlap="skip")
    clock.set(MONDAY)

    first, second = fire_schedules(app, database, clock=clock, until=timedelta(hours=1))

    assert (first.outcome, second.outcome) == ("enqueued", "skipped")
    assert second.task is None


def test_fired_schedules_are_rolled_back_with_the_transaction(
    app: App, connection: Connection, database: str, clock: Clock
) -> None:
    clock.set(MONDAY)
    with connection.transaction(force_rollback=True):
        fired = fire_schedules(app, connection, clock=clock, until=timedelta(days=1))
        done = inline(app, connection)

        assert [task.result for task in done] == ["day", "week"]
        assert len(fired) == 2

    assert_not_enqueued(database)
    assert connection.execute("select count(*) from rolecall.schedules").fetchone() == (0,)


async def test_call_with_an_async_connection_is_awaited(
    app: App, aconnection: psycopg.AsyncConnection[Any], clock: Clock
) -> None:
    clock.set(MONDAY)

    fired = await fire_schedules(app, aconnection, clock=clock, until=MONDAY + timedelta(days=1))

    assert [each.schedule for each in fired] == ["nightly", "weekly"]


def test_stored_schedules_fire_with_any_app(app: App, database: str, clock: Clock) -> None:
    clock.set(MONDAY)
    fire_schedules(app, database)
    clock.advance(hours=5)

    fired = fire_schedules(App("another"), database)

    assert [each.schedule for each in fired] == ["nightly", "weekly"]


def test_until_option_requires_a_clock(app: App, database: str) -> None:
    with pytest.raises(ValueError, match="until= needs clock="):
        fire_schedules(app, database, until=timedelta(days=1))
