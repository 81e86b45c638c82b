"""Fire times of schedules: cron expressions in their time zones, including the days of clock changes."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import islice, pairwise, takewhile
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolecall import InvalidSchedule
from rolecall.maintenance.cron import Cron

NEW_YORK, BERLIN, LORD_HOWE = "America/New_York", "Europe/Berlin", "Australia/Lord_Howe"
# One for each kind of clock change between 2020 and 2035: at midnight, by half an hour, in Ramadan, none.
ODD = (
    *(NEW_YORK, BERLIN, LORD_HOWE, "Africa/Cairo", "America/Havana", "Asia/Beirut", "America/Santiago"),
    *("Africa/Casablanca", "America/Nuuk", "America/Scoresbysund", "Asia/Gaza", "Asia/Kolkata", "Pacific/Apia"),
    *("Europe/Lisbon", "Asia/Tehran", "America/Asuncion", "Antarctica/Troll", "Pacific/Chatham", "America/Mexico_City"),
)
EXPRESSIONS = st.builds(
    "{} {} * * {}".format,
    st.sampled_from(["0", "30", "59", "*", "*/15", "0,20,40", "7-9"]),
    st.sampled_from(["0", "1", "2", "3", "23", "*", "*/2", "1-3", "0,2"]),
    st.sampled_from(["*", "SUN", "MON-FRI"]),
)


def between(cron: Cron, first: datetime, last: datetime) -> list[datetime]:
    return list(takewhile(lambda slot: slot < last, cron.fire_times(first)))


def days(cron: Cron, first: date, last: date) -> list[date]:
    """Return the local days of the fire times between two local midnights."""
    zone = ZoneInfo(cron.zone)
    bounds = (datetime(day.year, day.month, day.day, tzinfo=zone) for day in (first, last))
    return [slot.astimezone(zone).date() for slot in between(cron, *bounds)]


@pytest.mark.parametrize("zone", ODD)
def test_daily_schedule_runs_once_on_every_local_day(zone: str) -> None:
    """Exactly once a day for years, despite all clock changes."""
    first, last = date(2024, 1, 2), date(2027, 1, 2)
    every_day = [first + timedelta(days=number) for number in range((last - first).days)]

    for expression in ("30 2 * * *", "0 0 * * *", "30 12 * * *"):
        assert days(Cron(expression, zone), first, last) == every_day


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(available_timezones())), EXPRESSIONS, st.integers(0, 16 * 365 * 24 * 60))
def test_fire_times_increase_and_do_not_depend_on_the_start(zone: str, expression: str, minutes: int) -> None:
    """The next fire time is the same from any starting point."""
    cron = Cron(expression, zone)
    start = datetime(2020, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
    slots = list(islice(cron.fire_times(start), 60))

    assert all(earlier < later for earlier, later in pairwise(slots))
    for earlier, later in pairwise(slots):
        assert next(cron.fire_times(earlier + timedelta(seconds=1))) == later
        assert next(cron.fire_times(later - timedelta(seconds=1))) == later


@pytest.mark.parametrize(
    ("zone", "day"),
    [(NEW_YORK, (2026, 3, 8)), (NEW_YORK, (2026, 11, 1)), (BERLIN, (2026, 3, 29)), (LORD_HOWE, (2026, 4, 5))],
)
@pytest.mark.parametrize("expression", ["* * * * *", "*/7 * * * *", "30 * * * *", "15,45 1,2 * * *", "30 2 * * *"])
def test_next_fire_time_around_a_clock_change_is_independent_of_the_minute(
    zone: str, day: tuple[int, int, int], expression: str
) -> None:
    cron = Cron(expression, zone)
    start = datetime(*day, tzinfo=ZoneInfo(zone)).astimezone(UTC)
    slots = between(cron, start, start + timedelta(days=3))

    for minute in range(0, 6 * 60, 5):
        moment = start + timedelta(minutes=minute, seconds=13)
        assert next(cron.fire_times(moment)) == next(slot for slot in slots if slot >= moment)


def test_skipped_local_time_runs_at_the_next_existing_time() -> None:
    """Half past two does not exist on the day on which clocks go forward."""
    [slot, _] = islice(Cron("30 2 * * *", NEW_YORK).fire_times(datetime(2026, 3, 8, 5, tzinfo=UTC)), 2)

    assert slot.astimezone(ZoneInfo(NEW_YORK)).isoformat() == "2026-03-08T03:00:00-04:00"


def test_run_in_a_skipped_last_hour_of_a_day_moves_to_midnight() -> None:
    """In Nuuk the clocks go forward at eleven in the evening; neither day is skipped."""
    slots = between(
        Cron("30 23 * * *", "America/Nuuk"), datetime(2026, 3, 28, 2, tzinfo=UTC), datetime(2026, 3, 31, 2, tzinfo=UTC)
    )

    local = [slot.astimezone(ZoneInfo("America/Nuuk")).isoformat(timespec="minutes") for slot in slots]
    assert local == ["2026-03-29T00:00-01:00", "2026-03-29T23:30-01:00", "2026-03-30T23:30-01:00"]


def test_repeated_local_time_runs_the_first_time() -> None:
    """Half past one comes twice on the day on which clocks go back."""
    slots = between(
        Cron("30 1 * * *", NEW_YORK), datetime(2026, 11, 1, 4, tzinfo=UTC), datetime(2026, 11, 2, 4, tzinfo=UTC)
    )

    assert [slot.isoformat() for slot in slots] == ["2026-11-01T05:30:00+00:00"]


def test_half_hourly_schedule_uses_elapsed_time_across_clock_changes() -> None:
    slots = list(islice(Cron("*/30 * * * *", NEW_YORK).fire_times(datetime(2026, 11, 1, 4, tzinfo=UTC)), 10))

    assert {later - earlier for earlier, later in pairwise(slots)} == {timedelta(minutes=30)}


def test_fire_time_is_its_own_next_one() -> None:
    moment = datetime(2026, 1, 1, 4, 30, tzinfo=UTC)

    assert next(Cron("30 4 * * *").fire_times(moment)) == moment
    assert next(Cron("30 4 * * *").fire_times(moment + timedelta(microseconds=1))) == moment + timedelta(days=1)


@pytest.mark.parametrize(
    ("alias", "expression"),
    [("@hourly", "0 * * * *"), ("@Daily", "0 0 * * *"), ("@weekly", "0 0 * * SUN"), ("@yearly", "0 0 1 1 *")],
)
def test_cron_alias_equals_its_expression(alias: str, expression: str) -> None:
    start = datetime(2026, 5, 5, tzinfo=UTC)

    assert next(Cron(alias).fire_times(start)) == next(Cron(expression).fire_times(start))


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="0123456789*/,-#LWSUNMOTHJAFE @²\x00", max_size=24))
def test_any_text_is_a_valid_expression_or_rejected(text: str) -> None:
    cron = Cron(text)
    try:
        cron.check()
    except InvalidSchedule:
        return
    assert next(cron.fire_times(datetime(2026, 1, 1, tzinfo=UTC))) is not None


@pytest.mark.parametrize("zone", ["", "Mars/Base", "America", "../UTC", "/etc/localtime", "A" * 500, "UTC\x00"])
def test_unknown_time_zone_is_rejected(zone: str) -> None:
    with pytest.raises(InvalidSchedule, match="no time zone"):
        Cron("@daily", zone).check()


@pytest.mark.parametrize(
    ("zone", "first"),
    [
        (LORD_HOWE, datetime(2026, 10, 3, tzinfo=UTC)),
        (LORD_HOWE, datetime(2026, 4, 4, tzinfo=UTC)),
        ("Asia/Pyongyang", datetime(2018, 5, 4, tzinfo=UTC)),
        ("America/Caracas", datetime(2016, 4, 30, tzinfo=UTC)),
        ("Antarctica/Casey", datetime(2020, 10, 3, tzinfo=UTC)),
        ("America/St_Johns", datetime(2010, 11, 6, tzinfo=UTC)),
    ],
)
@pytest.mark.parametrize("expression", ["51 * * * *", "1 */5 * * *", "* 4 * * *", "*/7 1-3 * * *"])
def test_change_by_a_fraction_of_an_hour_omits_no_existing_fire_time(
    expression: str, zone: str, first: datetime
) -> None:
    last = first + timedelta(hours=50)
    plain = Cron(expression)  # in UTC, where local times exist once
    times = {(slot.hour, slot.minute) for slot in between(plain, first, first + timedelta(days=1))}
    every_minute = (first + timedelta(minutes=number) for number in range(50 * 60))
    local = ((moment, moment.astimezone(ZoneInfo(zone))) for moment in every_minute)

    assert between(Cron(expression, zone), first, last) == [
        moment for moment, at in local if (at.hour, at.minute) in times
    ]


def test_step_over_a_range_of_one_value_has_no_effect() -> None:
    first = datetime(2026, 1, 1, tzinfo=UTC)

    assert [slot.hour for slot in between(Cron("0 14-14/6 * * *"), first, first + timedelta(days=1))] == [14]


@pytest.mark.parametrize("expression", ["*/90 * * * *", "0 */36 * * *", "0 0 */45 * *"])
def test_step_longer_than_its_field_is_rejected(expression: str) -> None:
    with pytest.raises(InvalidSchedule, match="for an interval, use every"):
        Cron(expression).check()
