"""What decides whether a task runs, as the database gathered it at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from rolecall.model.states import TaskState

__all__ = ["KeySituation", "LiveWorker", "Obstacle", "Obstacles", "Situation", "StandingPause"]


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
