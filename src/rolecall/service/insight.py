"""What an operator may ask about the pool as a whole: counts, capacity, workers needed."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from rolecall.model.errors import UnknownRole
from rolecall.model.insight import RoleCapacity, RoleCount
from rolecall.service.database import Database
from rolecall.service.suggestions import with_suggestion
from rolecall.sql import insight

HORIZONS = (1, 4, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleNeed:
    """How many workers drain a role's pending tasks within so many hours; None while no rate was measured."""

    role: str
    pending_tasks: int
    active_workers: int
    workers_needed: dict[str, int | None]


class Insight:
    """The pool in numbers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def counts(self) -> list[RoleCount]:
        """Tasks by role and state."""
        return await self._database.run(insight.counts())

    async def capacity(self) -> list[RoleCapacity]:
        """What each role has to do and what its workers manage."""
        return await self._database.run(insight.capacity())

    async def need(self, role: str) -> RoleNeed:
        """What one role needs. Raises UnknownRole."""
        for capacity in await self.capacity():
            if capacity.role == role:
                return _need(capacity)
        raise await with_suggestion(UnknownRole(f"unknown role {role!r}"), self._database, [role])


def workers_needed(pending: int, tasks_per_worker_hour: float | None, hours: float) -> int | None:
    """Workers that drain `pending` tasks within `hours`; None where a rate is missing and there is work."""
    if pending == 0:
        return 0
    return ceil(pending / (tasks_per_worker_hour * hours)) if tasks_per_worker_hour else None


def _need(capacity: RoleCapacity) -> RoleNeed:
    rate = capacity.tasks_per_worker_hour
    return RoleNeed(
        role=capacity.role,
        pending_tasks=capacity.pending_tasks,
        active_workers=capacity.active_workers,
        workers_needed={_horizon(hours): workers_needed(capacity.pending_tasks, rate, hours) for hours in HORIZONS},
    )


def _horizon(hours: int) -> str:
    return "for_1_hour" if hours == 1 else f"for_{hours}_hours"
