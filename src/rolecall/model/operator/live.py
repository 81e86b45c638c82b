"""Data for live updates: changed tasks, the progress of roles, and the position in the stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from rolecall.model.states import TaskState


@dataclass(frozen=True, slots=True)
class TaskChange:
    """A task after a change. The version distinguishes changes that lead to the same state."""

    id: int
    parent_id: int | None
    role: str
    state: TaskState
    version: str


@dataclass(frozen=True, slots=True)
class Horizon:
    """The part of the database that one query for changes could see.

    `at` is its time, `last_id` the last task id that was assigned, `under_way` the ids of the transactions that were
    open, and `next_xid` the next transaction id. Transactions `elsewhere` belong to other databases and touch no
    task.
    """

    at: datetime
    last_id: int
    under_way: frozenset[int]
    next_xid: int
    elsewhere: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes that one query found, and what it could see."""

    horizon: Horizon
    tasks: Sequence[TaskChange]


@dataclass(frozen=True, slots=True)
class RoleProgress:
    """The progress of a role: open tasks by status, and the tasks that finished within the last minute.

    `waiting_since` is when the task that has waited longest became due. `current_root` is the running root, otherwise
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
    """The progress of all roles, for the first load of a page that then follows the events."""

    roles: list[RoleProgress]


class ReloadReason(StrEnum):
    """Why a client must reload what it shows.

    AWAY: it was disconnected too long, or the changes meanwhile are not known. CROWD: too many tasks changed at once
    to be reported individually. LATE: a transaction ended that had started too long ago.
    """

    AWAY = "away"
    CROWD = "crowd"
    LATE = "late"
