"""What callers may write for a task, turned into one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TypedDict

from rolecall.app import App, HandlerDefinition
from rolecall.model.errors import InvalidTask
from rolecall.model.retry import RetryPolicy
from rolecall.model.tasks import NewTask

__all__ = ["AnyTask", "TaskOptions", "new_task", "several"]

AnyTask = NewTask | HandlerDefinition[..., object] | str


class TaskOptions(TypedDict, total=False):
    """What can be said of a task besides its handler and payload; see NewTask."""

    role: str | None
    priority: int
    scheduled_for: datetime | None
    after: float | None
    key: str | None
    dedupe_key: str | None
    max_attempts: int | None
    retry: RetryPolicy | None


def new_task(what: AnyTask, payload: Mapping[str, object] | None, options: TaskOptions, app: App | None) -> NewTask:
    """Make the task that a caller asks for: a ready one, a handler's, or that of a handler named by text.

    Where the handler is known here, the payload is checked against its signature: raises InvalidPayload.
    """
    if isinstance(what, NewTask):
        if payload is not None:
            raise InvalidTask("a ready task has its payload already")
        return replace(what, **options) if options else what
    definition = app.handlers.get(what) if app and isinstance(what, str) else what
    if isinstance(definition, HandlerDefinition):
        return replace(definition.task(**_named(payload)), **options)
    return NewTask(handler=str(what), payload={} if payload is None else payload, **options)


def several(ids: int | Iterable[int]) -> list[int]:
    """Read one id or many."""
    return [ids] if isinstance(ids, int) else list(ids)


def _named(payload: object) -> Mapping[str, object]:
    if payload is None:
        return {}
    if not isinstance(payload, Mapping):
        raise InvalidTask(f"the payload is not an object but {type(payload).__name__}")
    odd = next((key for key in payload if not isinstance(key, str)), None)
    if odd is not None:
        raise InvalidTask(f"payload has the key {odd!r}, which is not text")
    return payload
