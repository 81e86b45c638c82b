"""Operator actions on schedules."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from rolecall import InvalidSchedule, Schedule, ScheduleNotFound, UnknownRole
from rolecall.service.services import Services
from rolecall.testing import Clock

NEW_YORK = "America/New_York"

At = Callable[[datetime], Awaitable[datetime]]


@pytest.fixture
def at(clock: Clock, aconnection: psycopg.AsyncConnection[Any]) -> At:
    """Stop the clock of the services at a moment."""

    async def stop(moment: datetime) -> datetime:
        clock.set(moment)
        await clock.show(aconnection)
        return moment

    return stop


NIGHTLY = Schedule(name="nightly", handler="add", every=86_400, payload={"a": 1}, priority=5, key="k")


async def test_schedule_is_stored_with_its_handlers_role(services: Services) -> None:
    stored = await services.schedules.put(NIGHTLY)

    assert (stored.role, stored.every, stored.payload, stored.key) == ("sums", 86_400, {"a": 1}, "k")
    assert await services.schedules.list() == [stored]


async def test_change_preserves_the_other_fields_and_the_next_run(services: Services) -> None:
    stored = await services.schedules.put(NIGHTLY)

    changed = await services.schedules.change("nightly", {"priority": 9})

    assert changed.priority == 9
    assert (changed.payload, changed.key, changed.next_run_at) == (stored.payload, stored.key, stored.next_run_at)


async def test_change_that_creates_a_schedule_needs_an_interval(services: Services) -> None:
    with pytest.raises(InvalidSchedule, match="interval"):
        await services.schedules.change("nightly", {"handler": "add"}, create=True)


async def test_run_now_called_twice_creates_one_task(services: Services) -> None:
    await services.schedules.put(NIGHTLY)

    assert await services.schedules.trigger("nightly") == await services.schedules.trigger("nightly")


async def test_unknown_handler_is_rejected_and_a_similar_name_suggested(services: Services) -> None:
    with pytest.raises(UnknownRole, match="did you mean 'stumble'"):
        await services.schedules.put(Schedule(name="odd", handler="stumbel", every=60))


async def test_next_run_of_a_daily_schedule_is_planned_when_it_is_stored(services: Services, at: At) -> None:
    await at(datetime(2026, 3, 7, 12, tzinfo=UTC))
    stored = await services.schedules.create(Schedule(name="d", handler="add", cron="30 2 * * *", zone=NEW_YORK))

    assert stored.next_run_at == datetime(2026, 3, 8, 7, tzinfo=UTC)
    coming = await services.schedules.preview("d", 3)
    assert [run.slot for run in coming] == [
        datetime(2026, 3, 8, 7, tzinfo=UTC),
        datetime(2026, 3, 9, 6, 30, tzinfo=UTC),
        datetime(2026, 3, 10, 6, 30, tzinfo=UTC),
    ]


async def test_preview_includes_the_jitter(services: Services, connection: psycopg.Connection[Any]) -> None:
    stored = await services.schedules.put(replace(NIGHTLY, jitter=600.0))
    [planned, *_] = await services.schedules.preview("nightly")

    connection.execute("select rolecall.fire_schedules()")

    [(due_at,)] = connection.execute("select scheduled_for from rolecall.tasks").fetchall()
    assert planned.slot == stored.next_run_at
    assert abs(due_at - planned.due_at) < timedelta(seconds=5)
    assert timedelta() <= planned.due_at - planned.slot <= timedelta(seconds=600)


async def test_preview_of_a_disabled_schedule_starts_in_the_future(services: Services, at: At) -> None:
    now = await at(datetime(2026, 1, 1, tzinfo=UTC))
    await services.schedules.put(replace(NIGHTLY, every=3600, enabled=False, first_run_at=now - timedelta(minutes=90)))

    coming = await services.schedules.preview("nightly", 2)

    assert [run.slot - now for run in coming] == [timedelta(minutes=30), timedelta(minutes=90)]


async def test_time_zone_change_is_validated_and_moves_the_next_run(services: Services, at: At) -> None:
    await at(datetime(2026, 1, 1, 12, tzinfo=UTC))
    await services.schedules.create(Schedule(name="d", handler="add", cron="0 0 * * *"))

    with pytest.raises(InvalidSchedule, match="no time zone"):
        await services.schedules.change("d", {"zone": "Nowhere"})

    changed = await services.schedules.change("d", {"zone": NEW_YORK})
    assert changed.next_run_at == datetime(2026, 1, 2, 5, tzinfo=UTC)


async def test_outcomes_of_runs_are_shown(services: Services, connection: psycopg.Connection[Any]) -> None:
    """Covers last_run_at, last_task_count, last_error, and the lateness in the history."""
    await services.schedules.put(NIGHTLY)
    connection.execute("select rolecall.fire_schedules()")

    stored = await services.schedules.get("nightly")
    page = await services.schedules.runs("nightly")

    assert (stored.last_task_count, stored.last_error, stored.last_run_at is None) == (1, None, False)
    [run] = page.items
    assert (run.outcome, run.task_count, run.task_id, page.next_cursor) == ("enqueued", 1, stored.last_task_id, None)
    assert run.late is not None
    assert run.late >= 0


@pytest.mark.parametrize("which", ["nobody", 4711])
async def test_missing_schedule_is_not_found_by_any_method(services: Services, which: str | int) -> None:
    doors = services.schedules
    for ask in (doors.get, doors.trigger, doors.delete, doors.preview, doors.runs, doors.enable, doors.disable):
        with pytest.raises(ScheduleNotFound):
            await ask(which)


async def test_deletion_requires_an_existing_schedule(services: Services) -> None:
    await services.schedules.put(NIGHTLY)
    await services.schedules.delete("nightly")

    with pytest.raises(ScheduleNotFound):
        await services.schedules.delete("nightly")
    with pytest.raises(ScheduleNotFound):
        await services.schedules.get("nightly")
