"""What callers may write for a task, turned into one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypedDict

from rolecall.app import App, HandlerDefinition
from rolecall.client.mistakes import no_handler, require_known, require_options
from rolecall.model.dedupe import Dedupe
from rolecall.model.durations import Duration
from rolecall.model.errors import InvalidTask
from rolecall.model.retry import RetryPolicy
from rolecall.model.tasks import ChildRule, Enqueued, Need, NewTask, NextTasks

__all__ = ["AnyTask", "TaskOptions", "entries", "following", "new_task", "several"]

AnyTask = NewTask | HandlerDefinition[..., object] | str


class TaskOptions(TypedDict, total=False):
    """What can be said of a task besides its handler and payload; see NewTask."""

    role: str | None
    priority: int
    scheduled_for: datetime | None
    after: Duration | None
    key: str | None
    dedupe_key: str | None
    dedupe: Dedupe | None
    max_attempts: int | None
    retry: RetryPolicy | None
    timeout: Duration | None
    needs: Sequence[Need | int | Enqueued | NewTask]
    on_failure: ChildRule | None


def new_task(what: AnyTask, payload: Mapping[str, object] | None, options: TaskOptions, app: App | None) -> NewTask:
    """Make the task that a caller asks for: a ready one, a handler's, or that of a handler named by text.

    Where the handler is known here, the payload is checked against its signature: raises InvalidPayload, and
    ContractBroken for a handler that may not start a chain. Raises TypeError for what is no task and for a word that
    is no option, HandlerMissing for a role of the app with a handler that it does not have.
    """
    require_options(options, TaskOptions.__annotations__)
    if isinstance(what, NewTask):
        if payload is not None:
            raise InvalidTask("a ready task has its payload already")
        return replace(what, **options) if options else what
    if not isinstance(what, str | HandlerDefinition):
        raise no_handler(what)
    definition = app.handlers.get(what) if app and isinstance(what, str) else what
    if isinstance(definition, HandlerDefinition):
        definition.require_entry("enqueue")
        return replace(definition.task(**_named(payload)), **options)
    if app is not None and options.get("role") in app.roles:
        require_known(str(what), app)
    return NewTask(handler=str(what), payload={} if payload is None else payload, **options)


def entries(batch: Iterable[NewTask], app: App | None) -> Iterable[NewTask]:
    """Return the batch; as it is read, ContractBroken is raised for a task that the app does not admit."""
    if app is None or not any(handler.links.bind_its_tasks for handler in app.handlers.values()):
        return batch
    return _admitted(batch, app)


def following(continue_with: NewTask | None, follow_ups: Iterable[NewTask], app: App | None) -> NextTasks | None:
    """Put together what comes next after a task that ends from outside; None where nothing does.

    Raises ContractBroken for a follow-up that may not start a chain.
    """
    wanted = NextTasks(continuation=continue_with, follow_ups=list(entries(follow_ups, app)))
    return wanted if wanted.continuation or wanted.follow_ups else None


def several(ids: int | Iterable[int]) -> list[int]:
    """Read one id or many."""
    return [ids] if isinstance(ids, int) else list(ids)


def _admitted(batch: Iterable[NewTask], app: App) -> Iterator[NewTask]:
    for task in batch:
        app.admit(task)
        yield task


def _named(payload: object) -> Mapping[str, object]:
    if payload is None:
        return {}
    if not isinstance(payload, Mapping):
        raise InvalidTask(f"the payload is not an object but {type(payload).__name__}")
    odd = next((key for key in payload if not isinstance(key, str)), None)
    if odd is not None:
        raise InvalidTask(f"payload has the key {odd!r}, which is not text")
    return payload
