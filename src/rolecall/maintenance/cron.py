"""When schedules run: the slots of a cron expression in its time zone, and those of an interval.

A cron expression names moments of the local clock. Where the clock jumps forward over one, the slot is the first
moment after the jump; where the clock is set back, a moment that comes twice is a slot once, the first time. An
expression that runs throughout the day (its minute or hour begins with `*`) follows elapsed time instead:
`*/15 * * * *` runs every quarter of an hour on such days too. Slots depend on the expression and the zone alone,
not on where one starts to count, and are strictly increasing. An interval is elapsed time, whatever clocks show.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from difflib import get_close_matches
from itertools import islice, takewhile

from cronsim import CronSim, CronSimError

from rolecall.model.errors import InvalidSchedule
from rolecall.model.schedules import CronPlan, DueCron, Schedule, StoredSchedule, Stretch
from rolecall.model.zones import find_zone, known_zones

__all__ = [
    "Cron",
    "check_schedule",
    "plan",
    "slots_from",
    "stretches",
    "upcoming",
]

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
# What a tick hands over of the slots that have come, and how many it counts at most.
MOST_SLOTS = 100
MOST_COUNTED = 5_000
SHORTEST, LONGEST = 1, 315_360_000
INSTANT = timedelta(microseconds=1)
# Long enough ago for every expression to have come round since: 29 February on a given weekday does every 28 years.
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Cron:
    """A cron expression of five fields, or an alias such as @daily, in a time zone by its IANA name."""

    expression: str
    zone: str = "UTC"

    def check(self) -> None:
        """Raise InvalidSchedule for what is no expression, never comes true, or names no zone."""
        if next(self.slots(LONG_AGO), None) is None:
            raise InvalidSchedule(f"cron {self.expression!r} never comes true")

    def words(self) -> str:
        """Say in English when it comes true. Raises InvalidSchedule."""
        return self._matches(LONG_AGO).explain()

    def slots(self, start: datetime) -> Iterator[datetime]:
        """Yield the slots from a moment on, that moment included, in UTC. Raises InvalidSchedule."""
        return _increasing(self._matches(start - INSTANT), start)

    def _matches(self, after: datetime) -> CronSim:
        zone = _zone(self.zone)
        fields = _fields(self.expression)
        try:
            return CronSim(fields, after.astimezone(zone))
        except CronSimError as error:
            raise InvalidSchedule(f"cron {self.expression!r}: {str(error).lower()}; it is {_form()}") from None


def check_schedule(schedule: Schedule) -> None:
    """Raise InvalidSchedule unless the schedule has one rhythm that comes true; the rest is the database's to judge."""
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
    """Work out which slots of a due schedule have come, and the next one."""
    cron = Cron(due.cron, due.zone)
    try:
        slots = cron.slots(due.next_run_at)
    except InvalidSchedule as error:
        return CronPlan(due=due, error=str(error))
    come: deque[datetime] = deque(maxlen=MOST_SLOTS)
    number = 0
    for slot in islice(slots, MOST_COUNTED):
        if slot > due.present:
            return CronPlan(due=due, slots=tuple(come), come=number, next=slot)
        come.append(slot)
        number += 1
    latest = _latest(cron, due.present) if number == MOST_COUNTED else come
    following = next(cron.slots(due.present + INSTANT), None)
    end = None if following else f"cron {due.cron!r} does not come true any more"
    return CronPlan(due=due, slots=tuple(latest), come=number, next=following, error=end)


def upcoming(schedule: StoredSchedule, present: datetime) -> Iterator[datetime]:
    """Yield the slots to come of a stored schedule; of a disabled one, those that it would have if it were enabled."""
    return slots_from(schedule, schedule.next_run_at if schedule.enabled else max(schedule.next_run_at, present))


def slots_from(schedule: StoredSchedule, start: datetime) -> Iterator[datetime]:
    """Yield the slots of a stored schedule from a moment on, which is not before its next one."""
    if schedule.cron is not None:
        return Cron(schedule.cron, schedule.zone).slots(start)
    return _grid(schedule, start)


def _grid(schedule: StoredSchedule, start: datetime) -> Iterator[datetime]:
    every = timedelta(seconds=schedule.every or 1.0)
    slot = schedule.next_run_at + -((schedule.next_run_at - start) // every) * every
    while True:
        yield slot
        slot += every


def _latest(cron: Cron, present: datetime) -> list[datetime]:
    """Find the latest slots by looking back further and further: there are more than enough."""
    reach = timedelta(hours=1)
    found: list[datetime] = []
    while len(found) < MOST_SLOTS:
        found = list(takewhile(lambda slot: slot <= present, cron.slots(present - reach)))
        reach *= 4
    return found[-MOST_SLOTS:]


def _increasing(matches: CronSim, start: datetime) -> Iterator[datetime]:
    # Counting from within an hour that comes twice, the library returns to its first time.
    latest = start - INSTANT
    try:
        for match in matches:
            slot = match.astimezone(UTC)
            if slot > latest:
                yield slot
                latest = slot
    except OverflowError:
        return  # the calendar ends


def _fields(expression: str) -> str:
    text = expression.strip()
    fields = ALIASES.get(text.lower(), text)
    number = len(fields.split())
    if number != len(FIELDS.split()):
        hint = "; for seconds, say every" if number > len(FIELDS.split()) else ""
        raise InvalidSchedule(f"cron {expression!r} has {number} fields; it is {_form()}{hint}")
    return fields


def _form() -> str:
    return f"five fields ({FIELDS}), such as '30 4 * * MON-FRI', or one of {', '.join(ALIASES)}"


def _zone(name: str) -> tzinfo:
    if zone := find_zone(name):
        return zone
    known = known_zones()
    if len(known) == 1:
        raise InvalidSchedule(f"this machine knows no time zone but UTC, so not {name!r}: pip install tzdata")
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "it is an IANA name such as 'America/Phoenix' or 'UTC'"
    raise InvalidSchedule(f"there is no time zone {name!r}; {hint}")


def stretches(schedule: StoredSchedule, present: datetime, end: datetime, grain: timedelta) -> list[Stretch]:
    """Put the slots from the present to the end together where they are closer than the grain.

    Those that are overdue are left out; one whose expression or zone means nothing any more has none.
    """
    try:
        slots = slots_from(schedule, max(schedule.next_run_at, present))
        if schedule.every is not None and schedule.every < grain.total_seconds():
            return _evenly(next(slots), end, timedelta(seconds=schedule.every))
        return _put_together(takewhile(lambda slot: slot < end, slots), grain)
    except InvalidSchedule:
        return []


def _put_together(slots: Iterable[datetime], grain: timedelta) -> list[Stretch]:
    found: list[Stretch] = []
    for slot in slots:
        if found and slot - found[-1].last < grain:
            found[-1] = Stretch(first=found[-1].first, last=slot, slots=found[-1].slots + 1)
        else:
            found.append(Stretch(first=slot, last=slot, slots=1))
    return found


def _evenly(first: datetime, end: datetime, every: timedelta) -> list[Stretch]:
    if first >= end:
        return []
    more = (end - first - timedelta(microseconds=1)) // every
    return [Stretch(first=first, last=first + more * every, slots=more + 1)]
