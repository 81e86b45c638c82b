"""What who watches the pool is told: tasks that changed, how far roles are, and where the telling stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from rolecall.model.states import TaskState

__all__ = ["Changes", "Horizon", "LiveSnapshot", "ReloadReason", "RoleProgress", "TaskChange"]


@dataclass(frozen=True, slots=True)
class TaskChange:
    """A task as it stands after a change; its version tells two changes apart that end in the same state."""

    id: int
    parent_id: int | None
    role: str
    state: TaskState
    version: str


@dataclass(frozen=True, slots=True)
class Horizon:
    """What a look at the database could see: when it was, the last id given out, and by their numbers the
    transactions that were under way, the one that was to begin next, and those that touch no task: they are
    another database's.
    """

    at: datetime
    last_id: int
    under_way: frozenset[int]
    next_xid: int
    elsewhere: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Changes:
    """What one look found, and what it could see."""

    horizon: Horizon
    tasks: Sequence[TaskChange]


@dataclass(frozen=True, slots=True)
class RoleProgress:
    """How far a role is: open tasks by the names people use, and what ended within the last minute.

    `waiting_since` is when the task became due that waits longest; `current_root` the root that is under way, else
    the next one.
    """

    role: str
    paused: bool
    blocked: int
    scheduled: int
    ready: int
    parked: int
    running: int
    waiting: int
    waiting_since: datetime | None
    current_root: int | None
    completed_last_minute: int
    failed_last_minute: int
    cancelled_last_minute: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSnapshot:
    """How far all roles are, for the first load of a page that then follows the events."""

    roles: list[RoleProgress]


class ReloadReason(StrEnum):
    """Why a client must load what it shows anew: it was away too long, or what changed meanwhile is not known; more
    changed at once than is told one by one; or a transaction ended that began too long ago.
    """

    AWAY = "away"
    CROWD = "crowd"
    LATE = "late"
