"""What an operator may do with schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rolecall.model.errors import InvalidSchedule, ScheduleNotFound, UnknownRole
from rolecall.model.insight import StoredSchedule
from rolecall.model.schedules import Schedule
from rolecall.service.database import Database
from rolecall.service.suggestions import with_suggestion
from rolecall.sql import insight, schedules

KEPT = ("handler", "role", "payload", "every", "priority", "key", "enabled")


class Schedules:
    """The stored rules that enqueue again and again."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self) -> list[StoredSchedule]:
        """All schedules by name."""
        return await self._database.run(insight.schedules())

    async def get(self, name: str) -> StoredSchedule:
        """One schedule. Raises ScheduleNotFound."""
        for schedule in await self.list():
            if schedule.name == name:
                return schedule
        raise ScheduleNotFound(f"there is no schedule {name!r}")

    async def change(self, name: str, changes: Mapping[str, Any]) -> StoredSchedule:
        """Store a new schedule, or the one that stands with some fields of `Schedule` changed.

        Raises InvalidSchedule, UnknownRole.
        """
        standing = [schedule for schedule in await self.list() if schedule.name == name]
        if not standing and "every" not in changes:
            raise InvalidSchedule(f"there is no schedule {name!r} yet; a new one needs an interval (every)")
        return await self.put(Schedule(**{"name": name, **_kept(standing, changes), **changes}))

    async def put(self, schedule: Schedule) -> StoredSchedule:
        """Store the schedule, or change the one of that name. Raises InvalidSchedule, UnknownRole."""
        try:
            await self._database.run(schedules.put(schedule))
        except UnknownRole as error:
            raise await with_suggestion(error, self._database, [schedule.role, schedule.handler]) from error
        return await self.get(schedule.name)

    async def trigger(self, name: str) -> int:
        """Enqueue its task now; returns the id, the same while that task is open. Raises ScheduleNotFound."""
        return await self._database.run(schedules.trigger(name))

    async def delete(self, name: str) -> None:
        """Forget the schedule; what it enqueued stays. Raises ScheduleNotFound."""
        if not await self._database.run(schedules.delete(name)):
            raise ScheduleNotFound(f"there is no schedule {name!r}")


def _kept(standing: Sequence[StoredSchedule], changes: Mapping[str, Any]) -> dict[str, Any]:
    # Another handler comes with its own role.
    kept = [name for name in KEPT if not (name == "role" and "handler" in changes)]
    return {name: getattr(schedule, name) for schedule in standing for name in kept}
