"""Schedules."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from itertools import islice
from typing import Any

from rolecall.maintenance.cron import Cron, check_schedule, fire_time_ranges, upcoming
from rolecall.maintenance.duties import fire_cron
from rolecall.model.audit import AuditEvent
from rolecall.model.errors import ConfigError, InvalidSchedule, ScheduleNotFound, UnknownRole
from rolecall.model.operator.pages import Page, page_by_id, position
from rolecall.model.schedules import PlannedRun, RunOutcome, Schedule, ScheduleAhead, ScheduleRun, StoredSchedule
from rolecall.service.arguments import require_between, require_page, with_suggestion
from rolecall.service.database import Database
from rolecall.service.redaction import Redactions, placeholder_problem, pointer_problem, redactions
from rolecall.sql import schedules
from rolecall.sql.statement import Statement

FARTHEST_PREVIEW = 1_000
FARTHEST_LOOK = 168
# Fire times closer than this part of the period are merged.
STRETCHES = 480
RHYTHM = ("every", "cron")

Which = str | int


@dataclass(frozen=True, slots=True, kw_only=True)
class FullSchedule:
    """The fields of a schedule with redacted values restored, and the same as shown."""

    values: Mapping[str, Any]
    redacted: Mapping[str, Any]


class Schedules:
    """The stored schedules. Each is identified by its name or id."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self) -> list[StoredSchedule]:
        """List all schedules, by name."""
        found = await self._database.run(schedules.list_())
        return await self._redact(found)

    async def get(self, which: Which) -> StoredSchedule:
        """Return one schedule. Raises ScheduleNotFound."""
        stored = await self._find(which)
        if stored is None:
            raise _not_found(which)
        [shown] = await self._redact([stored])
        return shown

    async def create(self, schedule: Schedule) -> StoredSchedule:
        """Store a new schedule. Raises ScheduleConflict, InvalidSchedule, UnknownRole."""
        check_schedule(schedule)
        full = await self._complete(asdict(schedule), None)
        return await self._store(full.redacted, schedules.put(schedule, new=True))

    async def put(self, schedule: Schedule) -> StoredSchedule:
        """Store the schedule, or change the one with its name. Fields that are None keep their values.

        Raises InvalidSchedule, UnknownRole, and ScheduleConflict for a forbidden change of an immutable one.
        """
        check_schedule(schedule)
        full = await self._complete(asdict(schedule), await self._find(schedule.name))
        return await self._store(full.redacted, schedules.put(replace(schedule, payload=full.values["payload"])))

    async def change(
        self, which: Which, changes: Mapping[str, Any], *, revision: int | None = None, create: bool = False
    ) -> StoredSchedule:
        """Change some fields of a schedule, or with `create` store a new one with that name.

        A payload field given as `[redacted]` keeps its value. With `revision`, raises ScheduleChanged if the schedule
        has changed since. Raises ScheduleNotFound, InvalidSchedule, UnknownRole, and ScheduleConflict for a forbidden
        change of an immutable one.
        """
        stored = await self._find(which)
        if stored is None and not (create and isinstance(which, str)):
            raise _not_found(which)
        _check_rhythm(which, changes, stored)
        name = stored.name if stored else str(which)
        full = await self._complete(changes, stored)
        expected = (
            revision if revision is not None else _expected_revision(changes, stored, kept=full.values != changes)
        )
        return await self._store({"name": name, **full.redacted}, schedules.change(name, full.values, expected))

    async def enable(self, which: Which) -> StoredSchedule:
        """Enable a schedule from now on. Missed fire times are skipped. Raises ScheduleNotFound."""
        return await self.change(which, {"enabled": True})

    async def disable(self, which: Which) -> StoredSchedule:
        """Disable a schedule. Raises ScheduleNotFound, and ScheduleConflict for an immutable one."""
        return await self.change(which, {"enabled": False})

    async def trigger(self, which: Which) -> int:
        """Run a schedule now. Return the task's id: that of the last run if its task is open. Raises
        ScheduleNotFound.
        """
        name = (await self.get(which)).name
        return await self._database.act(AuditEvent("schedules.trigger", {"name": name}), schedules.trigger(name))

    async def delete(self, which: Which) -> None:
        """Delete the schedule. Its tasks remain. Raises ScheduleNotFound, and ScheduleConflict for an immutable one."""
        name = (await self.get(which)).name
        if not await self._database.act(AuditEvent("schedules.delete", {"name": name}), schedules.delete(name)):
            raise _not_found(which)

    async def preview(self, which: Which, number: int = 10) -> Sequence[PlannedRun]:
        """Return the next runs, also of a disabled schedule. Raises ScheduleNotFound, ConfigError."""
        require_between("number", number, 1, FARTHEST_PREVIEW)
        schedule = await self.get(which)
        slots = upcoming(schedule, await self._database.run(schedules.present()))
        return await self._database.run(schedules.plan_runs(schedule, list(islice(slots, number))))

    async def ahead(self, hours: float = 24) -> Sequence[ScheduleAhead]:
        """Return the fire times of all schedules in the next hours. Those in quick succession are merged. Raises
        ConfigError.
        """
        if not 0 < hours <= FARTHEST_LOOK:
            problem = f"must be more than 0 and at most {FARTHEST_LOOK}, got {hours:g}"
            raise ConfigError(problem, variable="hours", value=hours)
        present = await self._database.run(schedules.present())
        span = timedelta(hours=hours)
        return [
            ScheduleAhead(
                schedule_id=schedule.id,
                name=schedule.name,
                enabled=schedule.enabled,
                stretches=fire_time_ranges(schedule, present, present + span, span / STRETCHES),
            )
            for schedule in await self.list()
        ]

    async def outcomes(self, which: Which) -> Mapping[RunOutcome, int]:
        """Count the recorded runs by outcome. Raises ScheduleNotFound."""
        return await self._database.run(schedules.outcomes((await self.get(which)).id))

    async def runs(self, which: Which, *, cursor: str | None = None, limit: int = 50) -> Page[ScheduleRun]:
        """List the runs, newest first. Raises ScheduleNotFound, ConfigError, InvalidCursor."""
        require_page(limit)
        before = position(cursor)
        schedule = await self.get(which)
        found = await self._database.run(schedules.runs(schedule.id, before=before, limit=limit + 1))
        return page_by_id(found, limit)

    async def _find(self, which: Which) -> StoredSchedule | None:
        statement = schedules.list_(name=which) if isinstance(which, str) else schedules.list_(schedule_id=which)
        found = await self._database.run(statement)
        return found[0] if found else None

    async def _redact(self, found: Iterable[StoredSchedule]) -> builtins.list[StoredSchedule]:
        schedules_ = [*found]
        hidden = await redactions(self._database, (schedule.handler for schedule in schedules_))
        return [replace(each, payload=hidden.payload(each.handler, each.payload)) for each in schedules_]

    async def _complete(self, given: Mapping[str, Any], stored: StoredSchedule | None) -> FullSchedule:
        old_handler = stored.handler if stored else None
        handler = given.get("handler") or old_handler
        hidden = await redactions(self._database, (old_handler, handler))
        if given.get("payload") is None:
            _require_same_handler(hidden, handler, stored)
            return FullSchedule(values=given, redacted=given)
        payload = _restore_redacted(hidden, handler, given["payload"], stored)
        redacted = {**given, "payload": hidden.payload(handler, payload)}
        return FullSchedule(values={**given, "payload": payload}, redacted=redacted)

    async def _store(self, redacted: Mapping[str, Any], statement: Statement[int]) -> StoredSchedule:
        try:
            schedule_id = await self._database.act(AuditEvent("schedules.put", redacted), statement)
        except UnknownRole as error:
            raise await with_suggestion(
                error, self._database, [redacted.get("role"), redacted.get("handler")]
            ) from error
        await fire_cron(self._database)  # plans the first fire time of a new expression immediately
        return await self.get(schedule_id)


def _check_rhythm(which: Which, changes: Mapping[str, Any], stored: StoredSchedule | None) -> None:
    rhythm = {word: changes[word] for word in RHYTHM if changes.get(word) is not None}
    if rhythm:
        zone = changes.get("zone") or (stored.zone if stored else "UTC")
        check_schedule(Schedule(name=str(which), zone=zone, **rhythm))
    elif stored is None:
        raise InvalidSchedule(f"there is no schedule {which!r} yet; a new one needs an interval or a cron expression")
    elif stored.cron is not None and changes.get("zone") is not None:
        Cron(stored.cron, changes["zone"]).check()


def _restore_redacted(hidden: Redactions, handler: str | None, payload: Any, stored: StoredSchedule | None) -> Any:
    """Restore the stored values of redacted fields. Raises InvalidSchedule."""
    # Another handler might show the same fields.
    same = stored is not None and stored.handler == handler
    if (problem := pointer_problem(payload)) is not None:
        raise InvalidSchedule(f"payload: {problem}")
    restored, place = hidden.of_payload(handler).restore(payload, stored.payload if stored and same else {})
    if place is None and stored is not None and not same:
        _, place = hidden.of_payload(stored.handler).restore(payload, {})
    if place is not None:
        raise InvalidSchedule(f"payload: {placeholder_problem(place)}")
    return restored


def _require_same_handler(hidden: Redactions, handler: str | None, stored: StoredSchedule | None) -> None:
    """Raise InvalidSchedule if a payload with redacted values would go to another handler."""
    if stored is None or stored.handler == handler:
        return
    if hidden.payload(stored.handler, stored.payload) != stored.payload:
        raise InvalidSchedule(f"payload: that of {stored.handler!r} has redacted values; give the whole payload")


def _expected_revision(changes: Mapping[str, Any], stored: StoredSchedule | None, *, kept: bool) -> int | None:
    # A new zone was checked with the stored expression, and kept values were read from the stored payload.
    return stored.revision if stored and (kept or changes.get("zone") is not None) else None


def _not_found(which: Which) -> ScheduleNotFound:
    return ScheduleNotFound(f"there is no schedule {which!r}")
