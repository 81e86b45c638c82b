"""Builds tasks from the arguments of client calls, waits for tasks, and emits the client's events."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from inspect import iscoroutine
from itertools import chain
from typing import Any, TypeVar

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
    WaitTimeout,
)
from rolecall.model.large import with_next
from rolecall.model.tasks import NewTask, NextTasks, TaskOptions
from rolecall.sql import roles
from rolecall.sql.events import ENDS, EventCollector
from rolecall.sql.statement import Statement
from rolecall.telemetry import Emitter, Event, EventType
from rolecall.telemetry.events import SomeTask
from rolecall.telemetry.tracing import EnqueueTrace, Tracing

AnyTask = NewTask | HandlerDefinition[..., object] | str
T = TypeVar("T")
FIRST = 0.01
LONGEST = 0.25
GROWTH = 1.5
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
        connection = what.asked.get("connection")
    if _is_whole(args, words):
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
    require_options(options, TaskOptions.__annotations__)
    if isinstance(what, NewTask):
        if payload is not None:
            raise InvalidTask("a NewTask already has a payload")
        return replace(what, **options) if options else what
    if not isinstance(what, str | HandlerDefinition):
        raise no_handler(what)
    definition = app.handlers.get(what) if app and isinstance(what, str) else what
    if isinstance(definition, HandlerDefinition):
        definition.require_entry("enqueue")
        task = definition.made(_require_object(payload))
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
    return _admitted(batch, app)


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
    return any(name in handlers and handlers[name].hides for task in batch if (name := task.handler or task.role))


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


def in_trace(tracing: Tracing | None, batch: Sequence[NewTask]) -> AbstractContextManager[EnqueueTrace | None]:
    """Return a context that traces an enqueue, if the app has a tracing sink."""
    return nullcontext() if tracing is None else tracing.trace_enqueue(batch)


def as_ids(ids: int | Iterable[int]) -> list[int]:
    """Return one or more ids as a list."""
    return [ids] if isinstance(ids, int) else list(ids)


def _admitted(batch: Iterable[NewTask], app: App) -> Iterator[NewTask]:
    for task in batch:
        app.admit(task)
        yield task


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


def _is_whole(args: tuple[Any, ...], words: Mapping[str, Any]) -> bool:
    if args:
        return len(args) == 1 and (args[0] is None or isinstance(args[0], Mapping))
    return "payload" in words and words.keys() - {"payload"} <= OPTIONS


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
        hint = _close_to(word, [*fields, *OPTIONS])
        raise TypeError(f"{word}= is neither a field of {handler.name!r} nor an option of a task{hint}")


def require_options(options: Collection[str], known: Collection[str]) -> None:
    """Raise TypeError for a keyword that is not an option of tasks. It probably belongs in the payload."""
    for word in options:
        if word not in known:
            hint = _close_to(word, known) or f"; the payload must be one argument: enqueue(handler, {{{word!r}: ...}})"
            raise TypeError(f"{word}= is not an option of a task{hint}")


def require_known(handler: str, app: App) -> None:
    """Raise HandlerMissing if the app has no handler of this name."""
    if handler not in _handlers(app):
        raise HandlerMissing(handler=handler, hint=_close_to(handler, _handlers(app)))


@contextmanager
def suggesting_handlers(batch: Sequence[NewTask], app: App | None) -> Iterator[None]:
    """Add a suggestion to UnknownRole if the name of a handler was misspelled."""
    try:
        yield
    except UnknownRole as error:
        named = [task.handler for task in batch if task.handler is not None and task.role is None]
        unknown = [name for name in named if app is not None and name not in _handlers(app)]
        if app is None or not unknown:
            raise
        raise UnknownRole(f"no handler {unknown[0]!r} is known{_close_to(unknown[0], _handlers(app))}") from error


def _handlers(app: App) -> list[str]:
    return [*app.handlers, *app.procedures]


def _close_to(word: str, known: Collection[Any]) -> str:
    close = get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def pauses() -> Iterator[float]:
    """Yield the seconds to sleep between polls: 10 ms, growing to 250 ms."""
    pause = FIRST
    while True:
        yield pause
        pause = min(LONGEST, pause * GROWTH)


def poll_until(look: Callable[[], T], done: Callable[[T], bool], late: WaitTimeout) -> T:
    """Poll until the value is done, and return it. Raises `late` after its number of seconds."""
    deadline = time.monotonic() + late.seconds
    for pause in pauses():
        seen = look()
        if done(seen):
            return seen
        left = deadline - time.monotonic()
        if left <= 0:
            break
        time.sleep(min(pause, left))
    raise late


async def poll_until_async(look: Callable[[], Awaitable[T]], done: Callable[[T], bool], late: WaitTimeout) -> T:
    """Poll until the value is done, and return it. Raises `late` after its number of seconds."""
    deadline = time.monotonic() + late.seconds
    for pause in pauses():
        seen = await look()
        if done(seen):
            return seen
        left = deadline - time.monotonic()
        if left <= 0:
            break
        await asyncio.sleep(min(pause, left))
    raise late


class ClientEvents:
    """Emits events to the sinks of a client's app, if it has one.

    Events of the client's `transaction()` are emitted after its commit. Nothing is emitted for the caller's own
    transaction, because the client does not know whether it commits.
    """

    def __init__(self, client: object, app: App | None) -> None:
        self._client = client
        self._app = app

    @property
    def emitter(self) -> Emitter:
        return NO_EMITTER if self._app is None else self._app.emitter

    def collect(
        self, *statements: Statement[Any], joined: object = None
    ) -> AbstractContextManager[EventCollector | None]:
        """Collect the events of statements that run in the block, and emit them after it.

        Also emits an event if the database does not answer.
        """
        return self._collecting(joined, *(statement.event_kinds for statement in statements))

    def collect_ends(self, joined: object) -> AbstractContextManager[EventCollector | None]:
        """Do the same for statements that may finish tasks."""
        return self._collecting(joined, ENDS)

    @contextmanager
    def emit_misfits(self) -> Iterator[None]:
        """Emit an event for a ContractBroken that is raised in the block."""
        try:
            yield
        except ContractBroken as error:
            self._emit(EventType.JOB_TYPE_VALIDATION_ERROR, error, SomeTask(handler=error.handler))
            raise

    @contextmanager
    def _collecting(self, joined: object, *tells: frozenset[EventType]) -> Iterator[EventCollector | None]:
        surrounding = None if joined is None else AfterCommit.of(self._client)
        if surrounding is not None and surrounding.connection is not joined:
            surrounding = None
        lost = surrounding is None and _has_own_transaction(joined)
        collector = None if lost or self.emitter.wanted.isdisjoint(chain(*tells)) else EventCollector()
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
        if kind in self.emitter.wanted:
            self.emitter.emit([Event(type=kind, at=time.time(), task=task, error=f"{type(error).__name__}: {error}")])


def _has_own_transaction(joined: object) -> bool:
    """Whether the caller's own transaction is open, or will be opened by the next statement.

    For connections of other libraries this is unknown and taken as true.
    """
    if isinstance(joined, psycopg.Connection | psycopg.AsyncConnection):
        return not is_free(joined)
    return joined is not None
