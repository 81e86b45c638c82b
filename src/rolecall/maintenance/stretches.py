"""The slots to come as few stretches: those that follow each other closely are one, however many they are."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import takewhile

from rolecall.maintenance.slots import slots_from
from rolecall.model.errors import InvalidSchedule
from rolecall.model.schedules import StoredSchedule, Stretch

__all__ = ["stretches"]


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
