"""Which task the code that runs here works on: what every line of a log is told by, whoever writes it.

A worker sets `current` around each attempt. It reaches what a handler calls and starts: coroutines, the slot's thread,
the handler's process.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, MutableMapping, Sequence
from contextvars import ContextVar
from typing import Any, Protocol

from rolecall.telemetry.events import TaskFacts

__all__ = ["AtWork", "TaskFilter", "add_task_fields", "current", "fields_of", "task_fields"]

MOST_IDS = 10


class AtWork(Protocol):
    """One task that is worked on, and the number of the worker that does it."""

    @property
    def task(self) -> TaskFacts: ...

    @property
    def worker_id(self) -> int: ...


# Several in a batch, none outside of handlers.
current: ContextVar[Sequence[AtWork]] = ContextVar("rolecall_current", default=())


def task_fields() -> dict[str, object]:
    """Return what a line says of the task that is worked on here; nothing outside of handlers.

    These are task, chain, role, handler, attempt, worker (its number) and, where there is one, key. In a batch, `tasks`
    are the ids, ten at most, and there is no more of what its tasks do not share.
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
    """Return what a line says of a task, whoever works on it."""
    fields: dict[str, object] = {
        "task": task.id,
        "chain": task.chain_id,
        "role": task.role,
        "handler": task.handler,
        "attempt": task.attempt,
    }
    return fields if task.key is None else {**fields, "key": task.key}


class TaskFilter(logging.Filter):
    """Puts these fields on every record that a handler of the logging module takes: `handler.addFilter(TaskFilter())`.

    What a record says for itself stays. The commands' own logs have it already.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Let the record pass, with the fields."""
        own = vars(record)
        for name, value in task_fields().items():
            own.setdefault(name, value)
        return True


def add_task_fields(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
    """Do the same as a processor of structlog: `structlog.configure(processors=[add_task_fields, ...])`."""
    for name, value in task_fields().items():
        event.setdefault(name, value)
    return event
