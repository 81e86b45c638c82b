"""The task that the current code works on, added to all log records.

A worker sets `current` around each attempt. It applies to everything a handler calls and starts: coroutines, the slot's
thread, the handler's process.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, MutableMapping, Sequence
from contextvars import ContextVar
from typing import Any, Protocol

from rolecall.telemetry.events import TaskFacts

MOST_IDS = 10


class AtWork(Protocol):
    """A running task and its worker's id."""

    @property
    def task(self) -> TaskFacts: ...

    @property
    def worker_id(self) -> int: ...


# Several tasks in a batch, none outside of handlers.
current: ContextVar[Sequence[AtWork]] = ContextVar("rolecall_current", default=())


def task_fields() -> dict[str, object]:
    """Return the log fields of the current task. Empty outside of handlers.

    These are task, chain, role, handler, attempt, worker (its id) and key, if there is one. In a batch, `tasks`
    contains up to ten ids, and the other fields only what all tasks share.
    """
    at_work = current.get()
    if not at_work:
        return {}
    task, worker_id = at_work[0].task, at_work[0].worker_id
    if len(at_work) > 1:
        ids = [each.task.id for each in at_work[:MOST_IDS]]
        return {"tasks": ids, "role": task.role, "handler": task.handler, "worker": worker_id}
    return {**fields_of(task), "worker": worker_id}


def fields_of(task: TaskFacts) -> dict[str, object]:
    """Return the log fields of a task."""
    fields: dict[str, object] = {
        "task": task.id,
        "chain": task.chain_id,
        "role": task.role,
        "handler": task.handler,
        "attempt": task.attempt,
    }
    return fields if task.key is None else {**fields, "key": task.key}


class TaskFilter(logging.Filter):
    """Adds the task's fields to log records: `handler.addFilter(TaskFilter())`.

    Fields that a record already has are not changed. The `rolecall` commands use this filter already.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the fields and accept the record."""
        own = vars(record)
        for name, value in task_fields().items():
            own.setdefault(name, value)
        return True


def add_task_fields(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
    """Add the task's fields, as a structlog processor: `structlog.configure(processors=[add_task_fields, ...])`."""
    for name, value in task_fields().items():
        event.setdefault(name, value)
    return event
