"""Tables of roles: the overview's, the page of roles, and the page of capacity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from operator import itemgetter

from rolecall.model.handlers import DeclaredHandler
from rolecall.model.operator.capacity import RoleCapacity
from rolecall.model.operator.insight import DeclaredRole
from rolecall.model.operator.live import RoleProgress
from rolecall.model.operator.overview import RoleOutlook
from rolecall.service.workers import Coverage
from rolecall.web.dashboard.presenters.tables import Column, SortedTable, TableQuery, natural_key, sorted_table

WAITING = "waiting"


class RoleStatus(StrEnum):
    """Whether tasks of a role can start, the worst status first."""

    NO_WORKER = "no worker"
    PAUSED = "paused"
    LIVE = "live"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleRow:
    """A role, its handlers, its tasks (None until they are counted), and its number of live workers."""

    role: DeclaredRole
    progress: RoleProgress | None
    handlers: Sequence[DeclaredHandler]
    workers: int

    @property
    def status(self) -> RoleStatus:
        """Whether its tasks can start."""
        if self.role.paused_at:
            return RoleStatus.PAUSED
        return RoleStatus.LIVE if self.workers else RoleStatus.NO_WORKER

    @property
    def not_ready(self) -> int | None:
        """The number of tasks that wait for a key, a child or a need."""
        return self.progress.blocked + self.progress.parked + self.progress.waiting if self.progress else None

    @property
    def waiting_since(self) -> datetime | None:
        """When the task that has waited longest became due."""
        return self.progress.waiting_since if self.progress else None


def role_rows(
    roles: Iterable[DeclaredRole],
    progress: Iterable[RoleProgress],
    handlers: Iterable[DeclaredHandler],
    coverage: Coverage,
) -> list[RoleRow]:
    """Combine what is known about roles."""
    counted = {each.role: each for each in progress}
    of_role = defaultdict(list)
    for handler in handlers:
        of_role[handler.role].append(handler)
    return [_row(role, counted.get(role.name), of_role[role.name], coverage) for role in roles]


def role_table(rows: Iterable[RoleRow], query: TableQuery) -> SortedTable[RoleRow]:
    """Return the table of the page of roles."""
    return sorted_table(ROLE_COLUMNS, rows, query, name=lambda row: row.role.name, default=WAITING)


def outlook_table(rows: Iterable[RoleOutlook], query: TableQuery) -> SortedTable[RoleOutlook]:
    """Return the overview's table of roles."""
    return sorted_table(OUTLOOK_COLUMNS, rows, query, name=lambda row: row.role, default=WAITING)


def longest_waiting(rows: Iterable[RoleOutlook]) -> RoleOutlook | None:
    """Return the role whose task has waited longest; None if no task is ready."""
    waiting = [(row.waiting_since, row) for row in rows if row.waiting_since is not None]
    return min(waiting, key=itemgetter(0))[1] if waiting else None


def capacity_table(rows: Iterable[RoleCapacity], query: TableQuery) -> SortedTable[RoleCapacity]:
    """Return the table of the page of capacity."""
    return sorted_table(CAPACITY_COLUMNS, rows, query, name=lambda row: row.role, default=WAITING)


def hours_until_empty(row: RoleCapacity) -> float | None:
    """Return the estimate of a role's capacity; 0 if nothing is pending."""
    return row.estimated_hours_to_drain if row.pending_tasks else 0.0


def _row(
    role: DeclaredRole, progress: RoleProgress | None, handlers: Sequence[DeclaredHandler], coverage: Coverage
) -> RoleRow:
    names = [role.name, *(handler.name for handler in handlers)]
    return RoleRow(role=role, progress=progress, handlers=handlers, workers=coverage.workers(role.name, names))


ROLE_COLUMNS: Sequence[Column[RoleRow]] = (
    Column(name="role", label="Role", key=lambda row: natural_key(row.role.name), is_number=False, smallest_first=True),
    Column(
        name="status",
        label="Status",
        key=lambda row: list(RoleStatus).index(row.status),
        is_number=False,
        smallest_first=True,
    ),
    Column(name=WAITING, label="Oldest waiting", key=lambda row: row.waiting_since, smallest_first=True),
    Column(name="ready", label="Ready", key=lambda row: row.progress and row.progress.ready),
    Column(name="running", label="Running", key=lambda row: row.progress and row.progress.running),
    Column(name="scheduled", label="Scheduled", key=lambda row: row.progress and row.progress.scheduled),
    Column(name="not_ready", label="Not ready", key=lambda row: row.not_ready),
    Column(name="workers", label="Live workers", key=lambda row: row.workers, smallest_first=True),
    Column(name="handlers", label="Handlers", key=lambda row: len(row.handlers)),
)
OUTLOOK_COLUMNS: Sequence[Column[RoleOutlook]] = (
    Column(name="role", label="Role", key=lambda row: natural_key(row.role), is_number=False, smallest_first=True),
    Column(name=WAITING, label="Oldest waiting", key=lambda row: row.waiting_since, smallest_first=True),
    Column(name="ready", label="Ready", key=lambda row: row.ready),
    Column(name="running", label="Running", key=lambda row: row.running),
    Column(name="scheduled", label="Scheduled", key=lambda row: row.scheduled),
    Column(name="finished", label="Finished", key=lambda row: row.ended_per_second),
    Column(name="empty", label="Empty in", key=lambda row: row.hours_to_drain),
    Column(name="workers", label="Workers", key=lambda row: row.workers, smallest_first=True),
    Column(name="needed", label="Needed (1 h)", key=lambda row: row.workers_needed),
)
CAPACITY_COLUMNS: Sequence[Column[RoleCapacity]] = (
    Column(name="role", label="Role", key=lambda row: natural_key(row.role), is_number=False, smallest_first=True),
    Column(name=WAITING, label="Oldest waiting", key=lambda row: row.oldest_waiting_seconds),
    Column(name="pending", label="Pending", key=lambda row: row.pending_tasks),
    Column(name="ready", label="Ready", key=lambda row: row.ready_tasks),
    Column(name="running", label="Running", key=lambda row: row.running_tasks),
    Column(name="workers", label="Workers", key=lambda row: row.active_workers, smallest_first=True),
    Column(name="per_worker", label="Per worker", key=lambda row: row.tasks_per_worker_hour, smallest_first=True),
    Column(name="arrived", label="Arrived", key=lambda row: row.arrived_last_hour),
    Column(name="completed", label="Completed", key=lambda row: row.completed_last_hour),
    Column(name="failed", label="Failed", key=lambda row: row.failed_last_hour),
    Column(name="empty", label="Empty in", key=hours_until_empty),
)
