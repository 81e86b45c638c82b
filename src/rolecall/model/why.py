"""Why a task does not run: everything that keeps it, in order of importance, and what would change each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from rolecall.model.states import TaskState

__all__ = ["Cause", "CauseKind", "Why"]


class CauseKind(StrEnum):
    """What can be said of a task that does not run at this moment, the most important first.

    The first four and the last one stand alone; of the others, all that hold are told.
    """

    FINISHED = "finished"
    STALE = "stale"
    CLAIMED = "claimed"
    RUNNING = "running"
    WAITING = "waiting"
    BLOCKED = "blocked"
    RETRYING = "retrying"
    SNOOZED = "snoozed"
    SCHEDULED = "scheduled"
    ONE_ROOT = "one_root"
    KEY_HELD = "key_held"
    KEY_WANTED = "key_wanted"
    PARKED = "parked"
    ROLE_PAUSED = "role_paused"
    UNFIT = "unfit"
    NO_WORKER = "no_worker"
    NO_HANDLER = "no_handler"
    NOT_TAKING = "not_taking"
    NO_FREE_SLOT = "no_free_slot"
    IN_LINE = "in_line"
    CLAIMABLE = "claimable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One thing that holds, as a sentence and as facts; `change` is what would change it, None where nothing can.

    `tasks` and `workers` are the first ids of those that it names, `number` how many there are of them, or, with
    `more`, than how many there are more. `key` and `role` are what it is about; `since`, `until` and `by` say of a
    pause, a claim or a delay when it began, when it ends at the latest and who wanted it; `error` is that of the
    last attempt.
    """

    kind: CauseKind
    sentence: str
    change: str | None
    tasks: tuple[int, ...] = ()
    workers: tuple[int, ...] = ()
    number: int | None = None
    more: bool = False
    role: str | None = None
    key: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    by: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Everything that keeps a task from running, as it was at one moment; never empty."""

    task_id: int
    state: TaskState
    at: datetime
    causes: list[Cause]
