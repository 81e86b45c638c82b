"""What callers may write for a task, turned into one; how one waits for it, and how it is told what came of that."""

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
from rolecall.telemetry.tracing import Asking, Tracing

__all__ = [
    "AnyTask",
    "Teller",
    "called",
    "entries",
    "following",
    "following_async",
    "has_hidden_values",
    "in_trace",
    "kept",
    "kept_async",
    "new_task",
    "no_handler",
    "pauses",
    "require_binding",
    "require_known",
    "require_options",
    "several",
    "suggesting",
    "until",
    "until_async",
]

AnyTask = NewTask | HandlerDefinition[..., object] | str
T = TypeVar("T")
FIRST = 0.01
LONGEST = 0.25
GROWTH = 1.5
UNHEARD = Emitter()
OPTIONS = {*TaskOptions.__annotations__, "connection"}


def called(what: AnyTask, args: tuple[Any, ...], words: Mapping[str, Any], app: App | None) -> tuple[NewTask[Any], Any]:
    """Make the task that a caller asks for, and say in which transaction.

    The payload is one argument, or the words of the call are its fields. Raises what `new_task` raises, and TypeError
    for a word that is both a field and an option.
    """
    options = dict(words)
    connection = options.pop("connection", None)
    if not isinstance(what, HandlerDefinition):
        if len(args) > 1:
            raise TypeError(f"the payload is one argument, and {len(args)} are given beside {what!r}")
        return new_task(what, args[0] if args else options.pop("payload", None), options, app), connection
    if connection is None:
        connection = what.asked.get("connection")
    if _is_whole(args, words):
        return new_task(what, args[0] if args else options.pop("payload"), options, app), connection
    payload = {word: options.pop(word) for word in words if word not in OPTIONS}
    _require_fields(what, words, payload)
    return new_task(what, what.signature.named(args, payload), options, app), connection


def new_task(
    what: AnyTask, payload: Mapping[str, object] | None, options: TaskOptions | Mapping[str, Any], app: App | None
) -> NewTask:
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
        made = definition.made(_named(payload))
        if isinstance(what, str):
            # Type checkers know nothing of a handler that is named by a text: its result is read as JSON values.
            made = replace(made, returns=None)
        return replace(made, **options) if options else made
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

    What is large of it is kept elsewhere. Raises ContractBroken for a follow-up that may not start a chain,
    PayloadMissing.
    """
    wanted = NextTasks(continuation=continue_with, follow_ups=list(entries(follow_ups, app)))
    if not (wanted.continuation or wanted.follow_ups):
        return None
    return wanted if app is None or app.large is None else with_next(wanted, partial(kept, app=app))


async def following_async(
    continue_with: NewTask | None, follow_ups: Iterable[NewTask], app: App | None
) -> NextTasks | None:
    """Do the same without blocking the loop where something large is to be kept elsewhere."""
    if app is None or app.large is None:
        return following(continue_with, follow_ups, app)
    return await asyncio.to_thread(following, continue_with, list(follow_ups), app)


def has_hidden_values(batch: Iterable[NewTask], app: App | None) -> bool:
    """Whether a task of the batch has a handler of the app that hides values of its payload."""
    handlers = app.handlers if app else {}
    return any(name in handlers and handlers[name].hides for task in batch if (name := task.handler or task.role))


def require_binding(connection: Foreign, batch: Iterable[NewTask], app: App | None) -> None:
    """Raise ConfigError if a connection would write hidden values of the batch into the text of a statement.

    Only for handlers that the app does not know: the others are checked where the statement runs.
    """
    names = {task.handler or task.role or "" for task in batch} - set(app.handlers if app else ())
    hiding = run(connection, roles.hiding_schemas(names)) if names and binds_on_client(connection) else ()
    if hiding:
        raise ConfigError(CLIENT_BINDING, variable="connection")


def kept(batch: Sequence[NewTask], app: App | None) -> Sequence[NewTask]:
    """Return the batch as it is stored: what is large of it is kept elsewhere, if the app says where.

    It blocks. Raises PayloadMissing.
    """
    return batch if app is None or app.large is None else app.large.detached(batch, app.handlers)


async def kept_async(batch: Sequence[NewTask], app: App | None) -> Sequence[NewTask]:
    """Do the same without blocking the loop."""
    return batch if app is None or app.large is None else await asyncio.to_thread(kept, batch, app)


def in_trace(tracing: Tracing | None, batch: Sequence[NewTask]) -> AbstractContextManager[Asking | None]:
    """Stand around an enqueue where somebody traces."""
    return nullcontext() if tracing is None else tracing.enqueuing(batch)


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


def no_handler(what: object) -> TypeError:
    """Make the error for what is neither a handler nor its name nor a task."""
    if iscoroutine(what):
        name = what.cr_code.co_name
        what.close()  # or Python complains of it at some other time and place
        return TypeError(
            f"{name}(...) was called, which is left to a worker: give the handler itself, enqueue({name}, ...)"
        )
    if isinstance(what, Callable):  # type: ignore[arg-type]  # as documented for isinstance
        name = getattr(what, "__name__", type(what).__name__)
        return TypeError(f"{name} is no handler: declare it with @app.task, or give the name of a handler")
    return TypeError(f"a handler, its name or a task can be enqueued, not a {type(what).__name__}")


def _is_whole(args: tuple[Any, ...], words: Mapping[str, Any]) -> bool:
    """Whether a call has its payload, or none, as one argument."""
    if args:
        return len(args) == 1 and (args[0] is None or isinstance(args[0], Mapping))
    return "payload" in words and words.keys() - {"payload"} <= OPTIONS


def _require_fields(
    handler: HandlerDefinition[..., object], words: Mapping[str, object], payload: Mapping[str, object]
) -> None:
    """Raise TypeError for a word that is both a field and an option, and for one of the payload that is neither."""
    fields = handler.signature.fields
    for word in fields.keys() & words.keys() & OPTIONS:
        raise TypeError(
            f"{word}= is a field of {handler.name!r} and an option of a task: write {handler.name}.task({word}=...)"
        )
    unknown = payload.keys() - fields.keys() if fields and handler.strict else ()
    for word in unknown:
        hint = _close_to(word, [*fields, *OPTIONS])
        raise TypeError(f"{word}= is no field of {handler.name!r} and no option of a task{hint}")


def require_options(options: Collection[str], known: Collection[str]) -> None:
    """Raise TypeError for a word that is no option of a task: most likely it belongs into the payload."""
    for word in options:
        if word not in known:
            hint = _close_to(word, known) or f"; the payload is one argument: enqueue(handler, {{{word!r}: ...}})"
            raise TypeError(f"{word}= is no option of a task{hint}")


def require_known(handler: str, app: App) -> None:
    """Raise HandlerMissing for the name of a handler that the app does not have."""
    if handler not in _handlers(app):
        raise HandlerMissing(handler=handler, hint=_close_to(handler, _handlers(app)))


@contextmanager
def suggesting(batch: Sequence[NewTask], app: App | None) -> Iterator[None]:
    """Let UnknownRole tell which handler was meant, where it was only named, and misspelt."""
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
    """Yield the seconds to sleep between looks: 10 ms, growing to 250 ms."""
    pause = FIRST
    while True:
        yield pause
        pause = min(LONGEST, pause * GROWTH)


def until(look: Callable[[], T], done: Callable[[T], bool], late: WaitTimeout) -> T:
    """Look until what is seen is done, and return it; raise `late` when its seconds have passed."""
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


async def until_async(look: Callable[[], Awaitable[T]], done: Callable[[T], bool], late: WaitTimeout) -> T:
    """Look until what is seen is done, and return it; raise `late` when its seconds have passed."""
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


class Teller:
    """Tells the sinks of a client's app; a client without an app tells nobody.

    What happens in the client's `transaction()` is told after its commit. Within a transaction of the caller's own
    nothing is told: whether it will commit is the caller's to know.
    """

    def __init__(self, client: object, app: App | None) -> None:
        self._client = client
        self._app = app

    @property
    def emitter(self) -> Emitter:
        """What brings events to the sinks."""
        return UNHEARD if self._app is None else self._app.emitter

    def of(self, *statements: Statement[Any], joined: object = None) -> AbstractContextManager[EventCollector | None]:
        """Run statements in the block, and have what follows from them collected; it is told after the block.

        A database that does not answer is told of, too.
        """
        return self._collecting(joined, *(statement.tells for statement in statements))

    def of_ends(self, joined: object) -> AbstractContextManager[EventCollector | None]:
        """Do the same for several statements by which tasks may end."""
        return self._collecting(joined, ENDS)

    @contextmanager
    def of_misfits(self) -> Iterator[None]:
        """Tell of what is found in the block not to be what a handler declares."""
        try:
            yield
        except ContractBroken as error:
            self._tell(EventType.JOB_TYPE_VALIDATION_ERROR, error, SomeTask(handler=error.handler))
            raise

    @contextmanager
    def _collecting(self, joined: object, *tells: frozenset[EventType]) -> Iterator[EventCollector | None]:
        surrounding = None if joined is None else AfterCommit.of(self._client)
        if surrounding is not None and surrounding.connection is not joined:
            surrounding = None
        lost = surrounding is None and _stands(joined)
        collector = None if lost or self.emitter.wanted.isdisjoint(chain(*tells)) else EventCollector()
        try:
            yield collector
        except DatabaseUnavailable as error:
            self._tell(EventType.STATE_ADAPTER_ERROR, error)
            raise
        if collector is not None and surrounding is not None:
            surrounding.add(partial(self.emitter.emit, collector.told))
        elif collector is not None:
            self.emitter.emit(collector.told)

    def _tell(self, kind: EventType, error: Exception, task: SomeTask | None = None) -> None:
        if kind in self.emitter.wanted:
            self.emitter.emit([Event(type=kind, at=time.time(), task=task, error=f"{type(error).__name__}: {error}")])


def _stands(joined: object) -> bool:
    """Whether a transaction of the caller's own stands, or begins with the next statement.

    What another library's connection commits is never ours to know.
    """
    if isinstance(joined, psycopg.Connection | psycopg.AsyncConnection):
        return not is_free(joined)
    return joined is not None
