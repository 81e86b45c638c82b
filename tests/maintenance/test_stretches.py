"""Future fire times, combined into few ranges."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from rolecall.maintenance.cron import fire_time_ranges
from rolecall.model.schedules import FireTimeRange, StoredSchedule

NOON = datetime(2026, 3, 28, 12, tzinfo=UTC)
DAY, GRAIN = timedelta(days=1), timedelta(minutes=3)
SCHEDULE = StoredSchedule(
    *(1, "tick", "work", "work", {}, 10.0, None, "UTC", 0, None, "one", "queue", 0.0, True, False, "person", None, 1),
    *(NOON + timedelta(seconds=5), None, None, None, None, None),
)


def of(cron: str, zone: str = "UTC") -> list[FireTimeRange]:
    schedule = replace(SCHEDULE, every=None, cron=cron, zone=zone, next_run_at=NOON)
    return fire_time_ranges(schedule, NOON, NOON + DAY, GRAIN)


def test_short_interval_is_one_stretch_that_ends_before_the_end() -> None:
    [stretch] = fire_time_ranges(SCHEDULE, NOON, NOON + DAY, GRAIN)

    assert (stretch.first, stretch.last, stretch.slots) == (
        NOON + timedelta(seconds=5),
        NOON + DAY - timedelta(seconds=5),
        8_640,
    )


def test_long_interval_has_one_stretch_per_future_fire_time_even_if_overdue() -> None:
    schedule = replace(SCHEDULE, every=14_400.0, next_run_at=NOON - timedelta(hours=2))

    found = fire_time_ranges(schedule, NOON, NOON + DAY, GRAIN)

    assert [(each.first.hour, each.slots) for each in found] == [(14, 1), (18, 1), (22, 1), (2, 1), (6, 1), (10, 1)]


def test_minutes_of_some_hours_form_one_stretch_per_day() -> None:
    [afternoon, morning] = of("* 9-13 * * *")

    assert (afternoon.first, afternoon.last, afternoon.slots) == (NOON, NOON.replace(hour=13, minute=59), 120)
    assert (morning.first.hour, morning.slots) == (9, 180)


def test_fire_time_follows_the_clocks_of_its_zone() -> None:
    """The clocks of Berlin go forward in this night"""
    assert [each.first.hour for each in of("30 2,4 * * *", "Europe/Berlin")] == [1, 2]


def test_unknown_zone_has_no_stretches() -> None:
    assert of("@hourly", "Europe/Atlantis") == []
