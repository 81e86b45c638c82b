"""Telemetry events about tasks, chains and workers, the same for logs, metrics and traces.

Their names call a task a job, as other systems do.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Protocol

import msgspec


class EventType(StrEnum):
    """All event types. docs/reference/events.md describes when each occurs and which facts it has."""

    __hash__ = str.__hash__  # Enum's own hash is slow, and each task causes several lookups.

    WORKER_STARTED = "worker_started"
    WORKER_ERROR = "worker_error"
    WORKER_STOPPING = "worker_stopping"
    WORKER_STOPPED = "worker_stopped"
    JOB_CREATED = "job_created"
    JOB_BLOCKED = "job_blocked"
    JOB_UNBLOCKED = "job_unblocked"
    JOB_TRIGGERED = "job_triggered"
    JOB_RETRIED = "job_retried"
    JOB_WAITING = "job_waiting"
    JOB_REAPED = "job_reaped"
    JOB_COMPLETED = "job_completed"
    JOB_FAILED = "job_failed"
    JOB_CANCELLED = "job_cancelled"
    JOB_ATTEMPT_STARTED = "job_attempt_started"
    JOB_ATTEMPT_COMPLETED = "job_attempt_completed"
    JOB_ATTEMPT_FAILED = "job_attempt_failed"
    JOB_ATTEMPT_SNOOZED = "job_attempt_snoozed"
    JOB_ATTEMPT_RETURNED = "job_attempt_returned"
    JOB_ATTEMPT_TAKEN_BY_ANOTHER_WORKER = "job_attempt_taken_by_another_worker"
    JOB_ATTEMPT_ALREADY_COMPLETED = "job_attempt_already_completed"
    JOB_ATTEMPT_LEASE_EXPIRED = "job_attempt_lease_expired"
    JOB_ATTEMPT_LEASE_RENEWED = "job_attempt_lease_renewed"
    CHAIN_CREATED = "chain_created"
    CHAIN_COMPLETED = "chain_completed"
    CHAIN_FAILED = "chain_failed"
    CHAIN_CANCELLED = "chain_cancelled"
    CHAIN_DELETED = "chain_deleted"
    NOTIFY_ADAPTER_ERROR = "notify_adapter_error"
    STATE_ADAPTER_ERROR = "state_adapter_error"
    JOB_TYPE_VALIDATION_ERROR = "job_type_validation_error"


# The last task of a chain also ends the chain.
CHAIN_ENDS: Mapping[EventType, EventType] = {
    EventType.JOB_COMPLETED: EventType.CHAIN_COMPLETED,
    EventType.JOB_FAILED: EventType.CHAIN_FAILED,
    EventType.JOB_CANCELLED: EventType.CHAIN_CANCELLED,
}

# Other events occur for every task and are logged at DEBUG.
LEVELS: Mapping[EventType, int] = {
    EventType.WORKER_STARTED: logging.INFO,
    EventType.WORKER_ERROR: logging.CRITICAL,
    EventType.WORKER_STOPPING: logging.INFO,
    EventType.WORKER_STOPPED: logging.INFO,
    EventType.JOB_REAPED: logging.WARNING,
    EventType.JOB_ATTEMPT_FAILED: logging.WARNING,
    EventType.JOB_ATTEMPT_TAKEN_BY_ANOTHER_WORKER: logging.WARNING,
    EventType.JOB_ATTEMPT_ALREADY_COMPLETED: logging.INFO,
    EventType.JOB_ATTEMPT_LEASE_EXPIRED: logging.WARNING,
    EventType.NOTIFY_ADAPTER_ERROR: logging.WARNING,
    EventType.STATE_ADAPTER_ERROR: logging.WARNING,
    EventType.JOB_TYPE_VALIDATION_ERROR: logging.WARNING,
}


# Log lines. Attempts name role and handler, failures the first line of the error.
WORDS: Mapping[EventType, str] = {
    EventType.WORKER_STARTED: "Starting worker {worker} for role: {roles}",
    EventType.WORKER_ERROR: "Worker {worker} failed: {error}",
    EventType.WORKER_STOPPING: "Worker {worker} is stopping",
    EventType.WORKER_STOPPED: "Worker {worker} has stopped",
    EventType.JOB_CREATED: "Task {task} was created",
    EventType.JOB_BLOCKED: "Task {task} is blocked",
    EventType.JOB_UNBLOCKED: "Task {task} is no longer blocked",
    EventType.JOB_TRIGGERED: "Task {task} was made due now",
    EventType.JOB_RETRIED: "Task {task} is pending again",
    EventType.JOB_WAITING: "Task {task} waits for its children",
    EventType.JOB_REAPED: "Task {task} was rescued: the worker of attempt {attempt} is silent or dead",
    EventType.JOB_COMPLETED: "Task {task} has completed",
    EventType.JOB_FAILED: "Task {task} has failed permanently: {error}",
    EventType.JOB_CANCELLED: "Task {task} was cancelled",
    EventType.JOB_ATTEMPT_STARTED: "Task {task} starts attempt {attempt}",
    EventType.JOB_ATTEMPT_COMPLETED: "Task {lane} completed",
    EventType.JOB_ATTEMPT_FAILED: "Task {task} failed at attempt {attempt}: {error}",
    EventType.JOB_ATTEMPT_SNOOZED: "Task {lane} snoozed",
    EventType.JOB_ATTEMPT_RETURNED: "Task {lane} returned",
    EventType.JOB_ATTEMPT_TAKEN_BY_ANOTHER_WORKER: "The outcome of task {task} was dropped: taken",
    EventType.JOB_ATTEMPT_ALREADY_COMPLETED: "The outcome of task {task} was dropped: completed",
    EventType.JOB_ATTEMPT_LEASE_EXPIRED: "The lease of task {task} expired at attempt {attempt}",
    EventType.JOB_ATTEMPT_LEASE_RENEWED: "The lease of task {task} was renewed",
    EventType.CHAIN_CREATED: "Chain {chain} was created",
    EventType.CHAIN_COMPLETED: "Chain {chain} has completed",
    EventType.CHAIN_FAILED: "Chain {chain} has failed",
    EventType.CHAIN_CANCELLED: "Chain {chain} was cancelled",
    EventType.CHAIN_DELETED: "Chain {chain} was deleted",
    EventType.NOTIFY_ADAPTER_ERROR: "Notifications do not arrive: {error}",
    EventType.STATE_ADAPTER_ERROR: "The database does not answer: {error}",
    EventType.JOB_TYPE_VALIDATION_ERROR: "Task {task} does not match the declaration of its handler: {error}",
}


class TaskFacts(Protocol):
    """The facts about a task in an event. A claimed task provides all of them. Unknown ones are None."""

    @property
    def id(self) -> int | None: ...

    @property
    def role(self) -> str | None: ...

    @property
    def handler(self) -> str | None: ...

    @property
    def attempt(self) -> int | None: ...

    @property
    def key(self) -> str | None: ...

    @property
    def chain_id(self) -> int | None: ...

    @property
    def parent_id(self) -> int | None: ...


class SomeTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task of which only some facts are known."""

    id: int | None = None
    role: str | None = None
    handler: str | None = None
    attempt: int | None = None
    key: str | None = None
    chain_id: int | None = None
    parent_id: int | None = None


class WorkerFacts(msgspec.Struct, frozen=True):
    """A worker: its id in the registry and its name."""

    id: int
    name: str

    def __str__(self) -> str:
        return f"{self.name} (number {self.id})"


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A telemetry event. `at` is in Unix seconds.

    `seconds` is a duration: of an attempt since its handler was called, of a task since it was created, of a chain
    since its first task was created. `data` contains the facts of this event type (docs/reference/events.md).
    """

    type: EventType
    at: float
    task: TaskFacts | None = None
    worker: WorkerFacts | None = None
    seconds: float | None = None
    error: str | None = None
    data: Mapping[str, object] | None = None

    @property
    def level(self) -> int:
        return LEVELS.get(self.type, logging.DEBUG)

    @property
    def time(self) -> datetime:
        return datetime.fromtimestamp(self.at, UTC)

    @property
    def message(self) -> str:
        task, data = self.task, self.data or {}
        return WORDS[self.type].format(
            task=_describe_task(task, task.handler) if task else None,
            lane=_describe_task(task, task.role) if task else None,
            attempt=task.attempt if task else None,
            chain=task.chain_id if task else None,
            worker=self.worker,
            roles=_describe_roles(data),
            error=(self.error or "").partition("\n")[0],
        )


class EventSink(Protocol):
    """A receiver of events: `App(sinks=[...])`. Its errors are logged; if it hangs, events are lost.

    With an attribute `event_types`, a collection of EventTypes, it receives only these. Events of types that no sink
    receives are not created. With a method `emit_all`, it receives sequences of events.
    """

    def emit(self, event: Event) -> None:
        """Receive one event, in the sink's own thread. Events are in the order in which this process emitted them."""


def _describe_task(task: TaskFacts, what: str | None) -> str:
    place = f"of {what}" if task.id is None else f"{task.id} ({what})"
    return place if task.key is None else f"{place} for {task.key}"


def _describe_roles(data: Mapping[str, object]) -> str:
    roles, way = data.get("roles"), data.get("by")
    named = ", ".join(map(str, roles)) if isinstance(roles, list | tuple) else ""
    slots = f" (slots: {data['slots']})" if "slots" in data else ""
    return f"{named or 'all'}{slots}" + (f", by {way}" if way else "")
