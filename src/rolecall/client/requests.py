"""Builds tasks from the arguments of client calls, reads and waits for tasks, and emits the client's events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from inspect import iscoroutine
from itertools import chain
from typing import Any, NoReturn, TypeVar

import psycopg

from rolecall.app import App, HandlerDefinition
from rolecall.db.after_commit import AfterCommit
from rolecall.db.foreign import Foreign
from rolecall.db.run import CLIENT_BINDING, binds_on_client, is_free, run
from rolecall.model.errors import (
    ConfigError,
    ContractBroken,
    DatabaseUnavailable,
    HandlerMissing,
    InvalidTask,
    UnknownRole,
)
from rolecall.model.hints import close_to, option_hint, require_options
from rolecall.model.large import with_next
from rolecall.model.reading import ReadsResult
from rolecall.model.states import TaskState
from rolecall.model.tasks import Enqueued, NewTask, NextTasks, Task, TaskOptions
from rolecall.sql import roles
from rolecall.sql.events import EventCollector
from rolecall.telemetry import Emitter, Event, EventType
from rolecall.telemetry.events import SomeTask

AnyTask = NewTask | HandlerDefinition[..., object] | str
T = TypeVar("T")
NO_EMITTER = Emitter()
OPTIONS = {*TaskOptions.__annotations__, "connection"}


def task_and_connection(
    what: AnyTask, args: tuple[Any, ...], words: Mapping[str, Any], app: App | None
) -> tuple[NewTask[Any], Any]:
    """Build the task of an `enqueue` call, and return it with the connection to use.

    The payload is one argument, or its fields are keyword arguments. Raises the errors of `new_task`, and TypeError
    for a keyword that is both a field and an option.
    """
    options = dict(words)
    connection = options.pop("connection", None)
    if not isinstance(what, HandlerDefinition):
        if len(args) > 1:
            raise TypeError(f"the payload must be one argument, got {len(args)} in addition to {what!r}")
        return new_task(what, args[0] if args else options.pop("payload", None), options, app), connection
    if connection is None:
        connection = what.task_options.get("connection")
    if args:
        is_whole = len(args) == 1 and (args[0] is None or isinstance(args[0], Mapping))
    else:
        is_whole = "payload" in words and words.keys() - {"payload"} <= OPTIONS
    if is_whole:
        return new_task(what, args[0] if args else options.pop("payload"), options, app), connection
    payload = {word: options.pop(word) for word in words if word not in OPTIONS}
    _require_fields(what, words, payload)
    return new_task(what, what.signature.assign_names(args, payload), options, app), connection


def new_task(
    what: AnyTask, payload: Mapping[str, object] | None, options: TaskOptions | Mapping[str, Any], app: App | None
) -> NewTask:
    """Build a task from a ready one, a handler, or the name of a handler.

    The payload is checked against the signature of a known handler. Raises InvalidPayload, and ContractBroken for a
    handler that cannot start a chain; TypeError for an invalid first argument or an unknown option; HandlerMissing
    for an unknown handler in a role of the app.
    """
    if not isinstance(what, NewTask | HandlerDefinition | str):
        raise no_handler(what)
    if options:
        require_options(options, TaskOptions.__annotations__, "a task", _payload_hint)
    if isinstance(what, NewTask):
        if payload is not None:
            raise InvalidTask("a NewTask already has a payload")
        return replace(what, **options) if options else what
    definition = app.handlers.get(what) if app and isinstance(what, str) else what
    if isinstance(definition, HandlerDefinition):
        checked = _require_object(payload)
        definition.require_entry("enqueue")
        task = definition.build_task(checked)
        if isinstance(what, str):
            # Type checkers do not know the handler, so the result is read as JSON values.
            task = replace(task, returns=None)
        return replace(task, **options) if options else task
    if app is not None and options.get("role") in app.roles:
        require_known(str(what), app)
    return NewTask(handler=str(what), payload={} if payload is None else payload, **options)


def admitted_tasks(batch: Iterable[NewTask], app: App | None) -> Iterable[NewTask]:
    """Return the batch. Iterating over it raises ContractBroken for a task that the app does not admit."""
    if app is None or not any(handler.links.bind_its_tasks for handler in app.handlers.values()):
        return batch
    return map(app.admit, batch)


def next_tasks_of(continue_with: NewTask | None, follow_ups: Iterable[NewTask], app: App | None) -> NextTasks | None:
    """Return the next tasks of a task that is completed from outside, or None.

    Large values are moved to their store. Raises ContractBroken for a follow-up that cannot start a chain, and
    PayloadMissing.
    """
    next_tasks = NextTasks(continuation=continue_with, follow_ups=list(admitted_tasks(follow_ups, app)))
    if not (next_tasks.continuation or next_tasks.follow_ups):
        return None
    return (
        next_tasks
        if app is None or app.large is None
        else with_next(next_tasks, partial(with_large_values_stored, app=app))
    )


async def next_tasks_of_async(
    continue_with: NewTask | None, follow_ups: Iterable[NewTask], app: App | None
) -> NextTasks | None:
    """Do the same without blocking the loop."""
    if app is None or app.large is None:
        return next_tasks_of(continue_with, follow_ups, app)
    return await asyncio.to_thread(next_tasks_of, continue_with, list(follow_ups), app)


def has_hidden_values(batch: Iterable[NewTask], app: App | None) -> bool:
    """Return whether a task of the batch has a handler with redacted values."""
    handlers = app.handlers if app else {}
    return any(
        name in handlers and handlers[name].signature.hides_values
        for task in batch
        if (name := task.handler or task.role)
    )


def require_binding(connection: Foreign, batch: Iterable[NewTask], app: App | None) -> None:
    """Raise ConfigError if a connection would write redacted values of the batch into the text of a statement.

    Only for handlers that the app does not know; the others are checked when the statement runs.
    """
    names = {task.handler or task.role or "" for task in batch} - set(app.handlers if app else ())
    hiding = run(connection, roles.hiding_schemas(names)) if names and binds_on_client(connection) else ()
    if hiding:
        raise ConfigError(CLIENT_BINDING, variable="connection")


def with_large_values_stored(batch: Sequence[NewTask], app: App | None) -> Sequence[NewTask]:
    """Return the batch with large values moved to their store, if the app has one. Blocks. Raises PayloadMissing."""
    return batch if app is None or app.large is None else app.large.detached(batch, app.handlers)


async def with_large_values_stored_async(batch: Sequence[NewTask], app: App | None) -> Sequence[NewTask]:
    """Do the same without blocking the loop."""
    return batch if app is None or app.large is None else await asyncio.to_thread(with_large_values_stored, batch, app)


def as_ids(ids: int | Iterable[int]) -> list[int]:
    """Return one or more ids as a list. Raises TypeError for an id that is not an integer."""
    found = [ids] if isinstance(ids, int) else list(ids)
    for each in found:
        if not isinstance(each, int):
            raise TypeError(f"an id is an integer, not {each!r}")
    return found


def _require_object(payload: object) -> Mapping[str, object]:
    if payload is None:
        return {}
    if not isinstance(payload, Mapping):
        raise InvalidTask(f"the payload is not an object but {type(payload).__name__}")
    odd = next((key for key in payload if not isinstance(key, str)), None)
    if odd is not None:
        raise InvalidTask(f"payload has the key {odd!r}, which is not text")
    return payload


def no_handler(what: object) -> TypeError:
    """Return the error for an argument that is not a handler, a handler's name or a task."""
    if iscoroutine(what):
        name = what.cr_code.co_name
        what.close()  # prevents the warning that it was never awaited
        return TypeError(f"{name}(...) was called: pass the handler itself, enqueue({name}, ...)")
    if isinstance(what, Callable):  # type: ignore[arg-type]  # as documented for isinstance
        name = getattr(what, "__name__", type(what).__name__)
        return TypeError(f"{name} is not a handler: declare it with @app.task, or pass the name of a handler")
    return TypeError(f"a handler, its name or a task can be enqueued, not a {type(what).__name__}")


def _require_fields(
    handler: HandlerDefinition[..., object], words: Mapping[str, object], payload: Mapping[str, object]
) -> None:
    fields = handler.signature.fields
    for word in fields.keys() & words.keys() & OPTIONS:
        raise TypeError(
            f"{word}= is a field of {handler.name!r} and an option of a task: write {handler.name}.task({word}=...)"
        )
    unknown = payload.keys() - fields.keys() if fields and handler.strict else ()
    for word in unknown:
        hint = option_hint(word, [*fields, *OPTIONS])
        raise TypeError(f"{word}= is neither a field of {handler.name!r} nor an option of a task{hint}")


def _payload_hint(word: str) -> str:
    return f"; the payload must be one argument: enqueue(handler, {{{word!r}: ...}})"


def require_known(handler: str, app: App) -> None:
    """Raise HandlerMissing if the app has no handler of this name."""
    if handler not in _handlers(app):
        raise HandlerMissing(handler=handler, hint=close_to(handler, _handlers(app)))


def suggest_handlers(error: UnknownRole, batch: Sequence[NewTask], app: App | None) -> NoReturn:
    """Raise the error, with a suggestion if the name of a handler was misspelled."""
    named = [task.handler for task in batch if task.handler is not None and task.role is None]
    unknown = [name for name in named if app is not None and name not in _handlers(app)]
    if app is None or not unknown:
        raise error
    raise UnknownRole(f"no handler {unknown[0]!r} is known{close_to(unknown[0], _handlers(app))}") from error


def _handlers(app: App) -> list[str]:
    return [*app.handlers, *app.procedures]


def id_of(task: Enqueued[Any] | int) -> int:
    """Return the id of a task. Raises TypeError for a value that is neither an id nor an enqueued task."""
    if isinstance(task, int):
        return task
    if not isinstance(task, Enqueued):
        raise TypeError(f"a task is given by its id or as returned by enqueue, not as {task!r}")
    return task.id


def as_declared(returns: ReadsResult | None, found: Task[Any]) -> Task[Any]:
    """Return the task with its result read as the declared type, or unchanged if there is no type or result."""
    if returns is None or found.state is not TaskState.COMPLETED:
        return found
    # Options may have given the task another handler than the one that built it.
    return replace(found, result=returns.read(found.result)) if found.handler == returns.handler else found


def returns_of(task: Enqueued[Any] | int) -> ReadsResult | None:
    """Return the reader of a task's result, if its handler is known and declares a type."""
    return task.returns if isinstance(task, Enqueued) else None


class ClientEvents:
    """Emits events to the sinks of a client's app, if it has one.

    Events of the client's `transaction()` are emitted after its commit. Nothing is emitted for the caller's own
    transaction, because the client does not know whether it commits.
    """

    def __init__(self, client: object, app: App | None) -> None:
        self._client = client
        self._app = app

    @cached_property
    def emitter(self) -> Emitter:
        return NO_EMITTER if self._app is None else self._app.emitter

    def emit_misfit(self, error: ContractBroken) -> None:
        self._emit(EventType.JOB_TYPE_VALIDATION_ERROR, error, SomeTask(handler=error.handler))

    @contextmanager
    def collect(self, *kinds: frozenset[EventType], joined: object = None) -> Iterator[EventCollector | None]:
        """Collect the events, of these kinds, of statements that run in the block, and emit them after it.

        Also emits an event if the database does not answer.
        """
        surrounding = None if joined is None else AfterCommit.of(self._client)
        if surrounding is not None and surrounding.connection is not joined:
            surrounding = None
        is_lost = joined is not None and surrounding is None and _has_own_transaction(joined)
        collector = None if is_lost or self.emitter.event_types.isdisjoint(chain(*kinds)) else EventCollector()
        try:
            yield collector
        except DatabaseUnavailable as error:
            self._emit(EventType.STATE_ADAPTER_ERROR, error)
            raise
        if collector is not None and surrounding is not None:
            surrounding.add(partial(self.emitter.emit, collector.events))
        elif collector is not None:
            self.emitter.emit(collector.events)

    def _emit(self, kind: EventType, error: Exception, task: SomeTask | None = None) -> None:
        if kind in self.emitter.event_types:
            self.emitter.emit([Event(type=kind, at=time.time(), task=task, error=f"{type(error).__name__}: {error}")])


def _has_own_transaction(joined: object) -> bool:
    """Whether the caller's own transaction is open, or will be opened by the next statement.

    For connections of other libraries this is unknown and taken as true.
    """
    if isinstance(joined, psycopg.Connection | psycopg.AsyncConnection):
        return not is_free(joined)
    return True
