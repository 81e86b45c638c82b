"""What an operator may do with schedules."""

from __future__ import annotations

import pytest

from rolecall import InvalidSchedule, Schedule, ScheduleNotFound, UnknownRole
from rolecall.service.services import Services

NIGHTLY = Schedule(name="nightly", handler="add", every=86_400, payload={"a": 1}, priority=5, key="k")


async def test_a_schedule_is_stored_with_its_handlers_role(services: Services) -> None:
    """Covers SPEC 001-6"""
    stored = await services.schedules.put(NIGHTLY)

    assert (stored.role, stored.every, stored.payload, stored.key) == ("sums", 86_400, {"a": 1}, "k")
    assert await services.schedules.list() == [stored]


async def test_a_change_keeps_the_rest_and_the_next_run(services: Services) -> None:
    """Covers SPEC 001-11"""
    stored = await services.schedules.put(NIGHTLY)

    changed = await services.schedules.change("nightly", {"priority": 9})

    assert changed.priority == 9
    assert (changed.payload, changed.key, changed.next_run_at) == (stored.payload, stored.key, stored.next_run_at)


async def test_a_change_without_a_schedule_needs_an_interval(services: Services) -> None:
    with pytest.raises(InvalidSchedule, match="interval"):
        await services.schedules.change("nightly", {"handler": "add"})


async def test_run_now_twice_gives_one_task(services: Services) -> None:
    """Covers SPEC 001-11, E5-7"""
    await services.schedules.put(NIGHTLY)

    assert await services.schedules.trigger("nightly") == await services.schedules.trigger("nightly")


async def test_an_unknown_handler_is_met_with_a_close_one(services: Services) -> None:
    with pytest.raises(UnknownRole, match="did you mean 'stumble'"):
        await services.schedules.put(Schedule(name="odd", handler="stumbel", every=60))


async def test_deleting_is_for_what_is_there(services: Services) -> None:
    await services.schedules.put(NIGHTLY)
    await services.schedules.delete("nightly")

    with pytest.raises(ScheduleNotFound):
        await services.schedules.delete("nightly")
    with pytest.raises(ScheduleNotFound):
        await services.schedules.get("nightly")
