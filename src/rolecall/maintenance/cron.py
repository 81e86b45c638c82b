"""The fire times of cron expressions in their time zones, and of intervals.

A cron expression is evaluated in local time. If the clock skips a fire time, it is moved to the first moment after
the jump; if the clock is set back, a fire time that occurs twice counts once, the first time. An expression whose
minute or hour starts with `*` follows elapsed time instead: `*/15 * * * *` fires every quarter of an hour on such
days too. Fire times strictly increase and depend only on the expression and the zone, not on where the calculation
starts. An interval is elapsed time.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from difflib import get_close_matches
from itertools import islice, takewhile

from cronsim import CronSim, CronSimError

from rolecall.model.errors import InvalidSchedule
from rolecall.model.schedules import CronPlan, DueCron, FireTimeRange, Schedule, StoredSchedule
from rolecall.model.zones import find_zone, known_zones

ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
FIELDS = "minute hour day-of-month month day-of-week"
MOST_VALUES = (60, 24, 31, 12, 7)
# A range of one value, which the library reads as one without an end.
ONE_VALUE = re.compile(r"(?<!\w)(\w+)-\1/[1-9]\d*(?=,|$)", re.IGNORECASE)
STEP = re.compile(r"/(\d+)")
MINUTE, HOUR = 60, 3_600
# How many past fire times a run reports, and how many it counts at most.
MOST_SLOTS = 100
MOST_COUNTED = 5_000
SHORTEST, LONGEST = 1, 315_360_000
INSTANT = timedelta(microseconds=1)
# Long enough ago to include a match of every expression: 29 February on a given weekday occurs every 28 years.
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Cron:
    """A cron expression of five fields, or an alias such as @daily, in an IANA time zone."""

    expression: str
    zone: str = "UTC"

    def check(self) -> None:
        """Raise InvalidSchedule for an invalid expression, an unknown zone, or an expression that never matches."""
        if next(self.fire_times(LONG_AGO), None) is None:
            raise InvalidSchedule(f"cron {self.expression!r} never matches")

    def words(self) -> str:
        """Return an English description of the expression. Raises InvalidSchedule."""
        return self._matches(LONG_AGO).explain()

    def fire_times(self, start: datetime) -> Iterator[datetime]:
        """Yield the fire times from `start` on (inclusive), in UTC. Raises InvalidSchedule."""
        return _without_repeats(self._matches(start - INSTANT), start)

    def _matches(self, after: datetime) -> CronSim:
        zone = _zone(self.zone)
        fields = _fields(self.expression)
        try:
            return ClockCron(fields, after.astimezone(zone))
        except CronSimError as error:
            raise InvalidSchedule(f"cron {self.expression!r}: {str(error).lower()}; it is {_form()}") from None


class ClockCron(CronSim):
    """The library's iterator, which also handles changes of the clock by a fraction of an hour."""

    def advance_hour(self) -> bool:
        if self.dt.tzinfo is not None:
            self.dt = self.dt.astimezone(UTC).astimezone(self.dt.tzinfo)  # midnight may not exist
        if self.dt.hour in self.hours:
            return False
        while self.dt.hour not in self.hours:
            self.tick(HOUR - MINUTE * self.dt.minute - self.dt.second)
            if self.dt.hour == 0:
                break  # the day must be checked again
        return True

    def tick(self, seconds: int = 1) -> None:
        before = self.dt
        super().tick(seconds)
        if seconds > MINUTE and self.dt.utcoffset() != before.utcoffset():
            self.dt = before.replace(second=0)
            while self.dt.utcoffset() == before.utcoffset():
                super().tick(MINUTE)


def check_schedule(schedule: Schedule) -> None:
    """Raise InvalidSchedule unless the schedule has either a valid interval or a valid cron expression.

    The database checks everything else.
    """
    if (schedule.every is None) == (schedule.cron is None):
        raise InvalidSchedule(
            f"schedule {schedule.name!r} needs either an interval (every) or a cron expression (cron)"
        )
    if schedule.every is not None and not SHORTEST <= schedule.every <= LONGEST:
        raise InvalidSchedule(
            f"schedule {schedule.name!r}: every is {SHORTEST} to {LONGEST} seconds, not {schedule.every:g}"
        )
    if schedule.cron is not None:
        Cron(schedule.cron, schedule.zone).check()


def plan(due: DueCron) -> CronPlan:
    """Return the past fire times of a due schedule, and its next one."""
    cron = Cron(due.cron, due.zone)
    try:
        slots = cron.fire_times(due.next_run_at)
    except InvalidSchedule as error:
        return CronPlan(due=due, error=str(error))
    fire_times: deque[datetime] = deque(maxlen=MOST_SLOTS)
    number = 0
    for slot in islice(slots, MOST_COUNTED):
        if slot > due.present:
            return CronPlan(due=due, slots=tuple(fire_times), due_count=number, next=slot)
        fire_times.append(slot)
        number += 1
    latest = _latest(cron, due.present) if number == MOST_COUNTED else fire_times
    following = next(cron.fire_times(due.present + INSTANT), None)
    end = None if following else f"cron {due.cron!r} does not match any more"
    return CronPlan(due=due, slots=tuple(latest), due_count=number, next=following, error=end)


def upcoming(schedule: StoredSchedule, present: datetime) -> Iterator[datetime]:
    """Yield the next fire times of a stored schedule. For a disabled one, those that it would have if enabled."""
    return fire_times_from(schedule, schedule.next_run_at if schedule.enabled else max(schedule.next_run_at, present))


def fire_times_from(schedule: StoredSchedule, start: datetime) -> Iterator[datetime]:
    """Yield the fire times of a stored schedule from `start` on, which must not be before its next one."""
    if schedule.cron is not None:
        return Cron(schedule.cron, schedule.zone).fire_times(start)
    return _grid(schedule, start)


def _grid(schedule: StoredSchedule, start: datetime) -> Iterator[datetime]:
    every = timedelta(seconds=schedule.every or 1.0)
    slot = schedule.next_run_at + -((schedule.next_run_at - start) // every) * every
    while True:
        yield slot
        slot += every


def _latest(cron: Cron, present: datetime) -> list[datetime]:
    """Return the latest fire times by looking back further and further."""
    reach = timedelta(hours=1)
    found: list[datetime] = []
    while len(found) < MOST_SLOTS:
        found = list(takewhile(lambda slot: slot <= present, cron.fire_times(present - reach)))
        reach *= 4
    return found[-MOST_SLOTS:]


def _without_repeats(matches: CronSim, start: datetime) -> Iterator[datetime]:
    # If the start is within an hour that occurs twice, the library returns to its first occurrence.
    latest = start - INSTANT
    try:
        for match in matches:
            slot = match.astimezone(UTC)
            if slot > latest:
                yield slot
                latest = slot
    except OverflowError:
        return  # the end of the calendar


def _fields(expression: str) -> str:
    text = expression.strip()
    fields = ALIASES.get(text.lower(), text)
    number = len(fields.split())
    if number != len(FIELDS.split()):
        hint = "; for seconds, use every" if number > len(FIELDS.split()) else ""
        raise InvalidSchedule(f"cron {expression!r} has {number} fields; it is {_form()}{hint}")
    for field, most in zip(fields.split(), MOST_VALUES, strict=True):
        for step in map(int, STEP.findall(field)):
            if step > most:
                raise InvalidSchedule(
                    f"cron {expression!r} has the step {step} in a field of {most} values, which starts again after"
                    " them; for an interval, use every"
                )
    return " ".join(ONE_VALUE.sub(r"\1", field) for field in fields.split())


def _form() -> str:
    return f"five fields ({FIELDS}), such as '30 4 * * MON-FRI', or one of {', '.join(ALIASES)}"


def _zone(name: str) -> tzinfo:
    if zone := find_zone(name):
        return zone
    known = known_zones()
    if len(known) == 1:
        raise InvalidSchedule(f"this machine has no time zones except UTC, so {name!r} is unknown: pip install tzdata")
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "it is an IANA name such as 'America/Phoenix' or 'UTC'"
    raise InvalidSchedule(f"there is no time zone {name!r}; {hint}")


def fire_time_ranges(
    schedule: StoredSchedule, present: datetime, end: datetime, grain: timedelta
) -> list[FireTimeRange]:
    """Return the fire times until `end`, with those closer than `grain` combined into stretches.

    Overdue fire times are omitted. A schedule with an invalid expression or zone has none.
    """
    try:
        slots = fire_times_from(schedule, max(schedule.next_run_at, present))
        if schedule.every is not None and schedule.every < grain.total_seconds():
            return _evenly(next(slots), end, timedelta(seconds=schedule.every))
        return _put_together(takewhile(lambda slot: slot < end, slots), grain)
    except InvalidSchedule:
        return []


def _put_together(slots: Iterable[datetime], grain: timedelta) -> list[FireTimeRange]:
    found: list[FireTimeRange] = []
    for slot in slots:
        if found and slot - found[-1].last < grain:
            found[-1] = FireTimeRange(first=found[-1].first, last=slot, slots=found[-1].slots + 1)
        else:
            found.append(FireTimeRange(first=slot, last=slot, slots=1))
    return found


def _evenly(first: datetime, end: datetime, every: timedelta) -> list[FireTimeRange]:
    if first >= end:
        return []
    more = (end - first - timedelta(microseconds=1)) // every
    return [FireTimeRange(first=first, last=first + more * every, slots=more + 1)]
