"""A task as it is asked for, as it is claimed, and as it is read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from rolecall.model.retry import RetryPolicy
from rolecall.model.states import TaskState

__all__ = ["Claim", "ClaimedTask", "Enqueued", "NewTask", "Task"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """A task that is to be enqueued: what to run, with what, and when.

    At least one of `handler` and `role` is needed; the database fills in the other. `after` is a delay in
    seconds, `scheduled_for` a moment (with a time zone; the past means now). `max_attempts` of 0 is no limit.
    """

    handler: str | None = None
    role: str | None = None
    payload: Mapping[str, object] = field(default_factory=dict)
    priority: int = 0
    scheduled_for: datetime | None = None
    after: float | None = None
    key: str | None = None
    dedupe_key: str | None = None
    max_attempts: int | None = None
    retry: RetryPolicy | None = None

    def options(self, **changes: Any) -> NewTask:
        """Return the same task with some fields changed: `task.options(priority=5, key="store:7")`."""
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class Enqueued:
    """The answer to one enqueue: the task's id, and whether an open task already stood for it."""

    id: int
    deduplicated: bool = False


class Claim(NamedTuple):
    """The proof of ownership that every write after a claim shows, next to the worker's id."""

    id: int
    fence: int


# A tuple, not a dataclass: thousands are built a second, straight from the rows of `rolecall.claim`.
class ClaimedTask(NamedTuple):
    """A task as a worker receives it; the fields stand in the order of the claim's columns.

    `payload_json` is the payload's JSON text, not decoded yet. Lease and timeout are seconds; a timeout of
    None is no limit. `max_attempts` of 0 is no limit.
    """

    id: int
    fence: int
    attempt: int
    max_attempts: int
    role: str
    handler: str
    priority: int
    payload_json: str
    key: str | None
    chain_id: int
    chain_index: int
    scheduled_for: datetime
    created_at: datetime
    lease_seconds: float
    timeout_seconds: float | None

    @property
    def claim(self) -> Claim:
        """What to show with every write about this task."""
        return Claim(self.id, self.fence)


@dataclass(frozen=True, slots=True)
class Task:
    """One row of the pool, open or finished; the fields stand in the order of the view's columns.

    `state` is stored; `status` is the finer name that people use (scheduled, ready, stale, retrying ...).
    """

    id: int
    state: TaskState
    status: str
    role: str
    handler: str
    priority: int
    payload: dict[str, Any]
    result: Any
    info: dict[str, Any] | None
    error: str | None
    key: str | None
    dedupe_key: str | None
    attempt: int
    max_attempts: int
    fence: int
    worker_id: int | None
    chain_id: int
    chain_index: int
    scheduled_for: datetime
    created_at: datetime
    claimed_at: datetime | None
    started_at: datetime | None
    lease_until: datetime | None
    deadline_at: datetime | None
    cancel_requested_at: datetime | None
    finished_at: datetime | None

    @property
    def is_finished(self) -> bool:
        """True when nothing will run for this task any more."""
        return self.state.is_finished
