"""Capacity planning: the backlog of roles, and how many workers they need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import takewhile

from rolecall.maintenance.cron import upcoming
from rolecall.model.operator.capacity import PlanRequest, RoleCapacity, RolePlan, look_back, plan
from rolecall.model.schedules import StoredSchedule
from rolecall.service.arguments import require_between, role_not_found
from rolecall.service.database import Database
from rolecall.service.insight import Insight
from rolecall.sql import capacity, schedules

MOST_WORKERS = 1_000_000
MOST_HOURS = 24
LONGEST_WAIT = 30 * 86_400.0
HOUR = timedelta(hours=1)
PAST_MINUTES = 120


class Capacity:
    """The load of roles, and the throughput of their workers."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._insight = Insight(database)

    async def list(self) -> list[RoleCapacity]:
        """List all roles, by name."""
        return await self._database.run(capacity.capacity())

    async def plan(self, role: str, question: PlanRequest | None = None) -> RolePlan:
        """Return when a role's queue will be empty, and how many workers it needs. Raises RoleNotFound, ConfigError."""
        terms = question or PlanRequest()
        _check(terms)
        for rows in await self._database.run(capacity.capacity(role)):
            due = await self._database.run(capacity.due_by_hour(role, terms.hours))
            runs = await self._runs_ahead(role, terms.hours)
            routine = await self._database.run(schedules.runs_last_hour(role))
            by_hour = [due.get(hour, 0) for hour in range(terms.hours)]
            past = look_back(await self._insight.history(role, PAST_MINUTES), rows.ready_tasks)
            return plan(rows, terms, due=by_hour, scheduled=runs, routine=routine, past=past)
        raise await role_not_found(role, self._database)

    async def _runs_ahead(self, role: str, hours: int) -> Sequence[int]:
        present = await self._database.run(schedules.present())
        stored = await self._database.run(schedules.list_())
        runs: Counter[int] = Counter()
        for schedule in stored:
            if schedule.role == role and schedule.enabled:
                runs.update(_hours_of_runs(schedule, present, hours))
        return [runs[hour] for hour in range(hours)]


def _hours_of_runs(schedule: StoredSchedule, present: datetime, hours: int) -> Iterator[int]:
    end = present + timedelta(hours=hours)
    for slot in takewhile(lambda slot: slot < end, upcoming(schedule, present)):
        yield max(0, (slot - present) // HOUR)


def _check(terms: PlanRequest) -> None:
    require_between("hours", terms.hours, 1, MOST_HOURS)
    require_between("workers", 0 if terms.workers is None else terms.workers, 0, MOST_WORKERS)
    require_between("target_wait_s", 1 if terms.target_wait_s is None else terms.target_wait_s, 0.001, LONGEST_WAIT)
