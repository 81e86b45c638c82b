"""Clock changes of a time zone, which make a schedule's day longer or shorter."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from rolecall.model.zones import find_zone

FARTHEST = 370
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockChange:
    """A time at which the clocks of a zone change, by `seconds`."""

    at: datetime
    seconds: float


def in_zone(moment: datetime, name: str) -> str:
    """Format a time in a zone, with its offset; in UTC if the zone is unknown."""
    local = moment.astimezone(find_zone(name) or UTC)
    text = f"{local:%a %d %b %Y, %H:%M:%S}"
    # Some zones have no abbreviation.
    return f"{text} {local:%Z}" if f"{local:%Z}".isalpha() else f"{text} UTC{local:%z}"


def offset_of(moment: datetime, name: str) -> timedelta:
    """Return the zone's offset from UTC."""
    return moment.astimezone(find_zone(name) or UTC).utcoffset() or timedelta()


def next_clock_change(name: str, present: datetime) -> ClockChange | None:
    """Return the next change within a year, or None."""
    for day in range(FARTHEST):
        low, high = present + day * DAY, present + (day + 1) * DAY
        before, after = offset_of(low, name), offset_of(high, name)
        if before != after:
            return ClockChange(at=_between(name, low, high), seconds=(after - before).total_seconds())
    return None


def _between(name: str, low: datetime, high: datetime) -> datetime:
    before = offset_of(low, name)
    while high - low > MINUTE / 60:
        middle = low + (high - low) / 2
        low, high = (middle, high) if offset_of(middle, name) == before else (low, middle)
    return high.astimezone(UTC).replace(microsecond=0)
