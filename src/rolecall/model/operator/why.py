"""Why a task does not run: its situation, and the causes that follow from it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from rolecall.model.states import TaskState


class CauseKind(StrEnum):
    """A reason why a task does not run at this moment, the most important first.

    The first five and the last one are reported alone; of the others, all that apply.
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
    KEY_PAUSED = "key_paused"
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
    """One cause, as a sentence and as facts; `change` is what would remove it, None if nothing can.

    `tasks` and `workers` are the first ids of those that it names. `number` is their total, or with `more` a lower
    limit of it. `key` and `role` are those it is about. `since`, `until` and `by` are the beginning, the latest end
    and the author of a pause, claim or delay. `error` is that of the last attempt.
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
    """All causes that keep a task from running, as of one moment; at least one."""

    task_id: int
    state: TaskState
    at: datetime
    causes: list[Cause]


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """A task that another one waits for. `chain_id` is set if it waits for the whole chain, whose open task this
    is.
    """

    id: int
    chain_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacles:
    """The number of open needs or children, and the first ten of them."""

    number: int
    first: list[Obstacle]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySituation:
    """Why a task does not get its key: the tasks that hold permits, and due tasks of the key that come first."""

    capacity: int
    used: int
    holders: list[int]
    better: int
    best: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentPause:
    """A role's pause: when it began, when it expires (None: when the role is resumed), and who paused it."""

    since: datetime
    until: datetime | None
    by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveWorker:
    """An active worker of the task's role. It is `able` if it has the handler; `holds` counts its claims, started
    or not.
    """

    id: int
    able: bool
    slots: int
    holds: int
    command: str | None
    backing_off: str | None

    @property
    def free_slots(self) -> int:
        """The number of tasks that it would claim now. During a back-off, this is one if it holds none."""
        if self.command is not None:
            return 0
        if self.backing_off is not None:
            return int(self.holds == 0)
        return max(0, self.slots - self.holds)

    @property
    def is_taking(self) -> bool:
        """True if it claims new tasks as soon as a slot is free."""
        return self.command is None and (self.backing_off is None or self.holds == 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A task and, while it is open, everything it depends on. `ahead` is None if its position in line does not
    matter.
    """

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
    pause: CurrentPause | None = None
    one_root: bool = False
    parked: bool = False
    unfit_since: datetime | None = None
    workers: list[LiveWorker] | None = None
    ahead: int | None = None
