"""Why a task does not run: the situation it is in, and what that says of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from rolecall.model.states import TaskState

__all__ = [
    "Cause",
    "CauseKind",
    "KeySituation",
    "LiveWorker",
    "Obstacle",
    "Obstacles",
    "Situation",
    "StandingPause",
    "Why",
]


class CauseKind(StrEnum):
    """What can be said of a task that does not run at this moment, the most important first.

    The first five and the last one stand alone; of the others, all that hold are told.
    """

    FINISHED = "finished"
    STALE = "stale"
    CLAIMED = "claimed"
    RUNNING = "running"
    EXPIRED = "expired"
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
    HANDED_OVER = "handed_over"
    IN_LINE = "in_line"
    EXPIRES = "expires"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """A task that another one waits for; `chain_id` where it waits for the whole of a chain, which stands there."""

    id: int
    chain_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacles:
    """How many needs or children are open, and the first ten."""

    number: int
    first: list[Obstacle]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySituation:
    """Who stands between a task and its key: holders, and due tasks that want it and are better."""

    capacity: int
    used: int
    holders: list[int]
    better: int
    best: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingPause:
    """Since when a role is paused, until when (None: until somebody resumes it), and by whom."""

    since: datetime
    until: datetime | None
    by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveWorker:
    """An active worker of the task's role; `able` has its handler, `holds` counts its claims, started or not."""

    id: int
    able: bool
    slots: int
    holds: int
    command: str | None
    backing_off: str | None

    @property
    def free_slots(self) -> int:
        """How many tasks it would claim now; one that backs off takes one when it has none."""
        if self.command is not None:
            return 0
        if self.backing_off is not None:
            return int(self.holds == 0)
        return max(0, self.slots - self.holds)

    @property
    def is_taking(self) -> bool:
        """Whether it takes new tasks as soon as a slot is free."""
        return self.command is None and (self.backing_off is None or self.holds == 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A task and, while it is open, all that it depends on; `ahead` is None where it is not its turn anyway."""

    id: int
    state: TaskState
    at: datetime
    role: str
    handler: str
    key_name: str | None
    attempt: int
    error: str | None
    worker_id: int | None
    scheduled_for: datetime
    claimed_at: datetime | None
    started_at: datetime | None
    lease_until: datetime | None
    deadline_at: datetime | None
    cancel_requested_at: datetime | None
    finished_at: datetime | None
    expires_at: datetime | None
    waits: Obstacles | None = None
    rescue_from: datetime | None = None
    last_event: str | None = None
    key: KeySituation | None = None
    pause: StandingPause | None = None
    one_root: bool = False
    parked: bool = False
    unfit_since: datetime | None = None
    workers: list[LiveWorker] | None = None
    ahead: int | None = None
