"""The core of the sync client: it connects, declares the app, runs statements, and stores and reads tasks.

Contains the calls whose results have the type that a handler declares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from itertools import chain
from math import inf
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar, Unpack, overload

from psycopg_pool import ConnectionPool

from rolecall.app import App, HandlerDefinition
from rolecall.client.polling import poll_until
from rolecall.client.requests import (
    AnyTask,
    ClientEvents,
    admitted_tasks,
    as_declared,
    has_hidden_values,
    id_of,
    require_binding,
    returns_of,
    suggest_handlers,
    task_and_connection,
    with_large_values_stored,
)
from rolecall.client.source import Source
from rolecall.client.transactions import notify_workers
from rolecall.db.foreign import Foreign
from rolecall.db.pools import Pool, Pools
from rolecall.db.run import run, run_all
from rolecall.model.errors import ContractBroken, UnknownRole, WaitTimeout
from rolecall.model.tasks import Enqueued, NewTask, Task, TaskOptions
from rolecall.model.transactions import Joinable
from rolecall.sql import enqueue, keys, roles, tasks
from rolecall.sql.events import STORED
from rolecall.sql.statement import Statement
from rolecall.telemetry.tracing import tracing_of
from rolecall.transport.in_process import THIS_PROCESS
from rolecall.transport.transport import WAKE_CHANNEL

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Payload = Mapping[str, object]


class ClientCore:
    """The base class of `Client`."""

    def __init__(
        self, database: str | Pool | None = None, *, app: App | None = None, pooled: bool | None = None
    ) -> None:
        dsn = database if isinstance(database, str) else None
        callers_pool = database if isinstance(database, ConnectionPool) else None
        self._pools = Pools(Source(dsn, pooled=pooled), callers_pool)
        self._app = app
        self._tracing = tracing_of(app.sinks if app else ())
        self._teller = ClientEvents(self, app)
        self._undeclared = app is not None
        self._joins_only = database is None
        if app is not None:
            app.clients.sync_client.take(self)

    def open(self) -> Self:
        """Connect and declare the app now instead of at the first enqueue."""
        self._declare(None)
        with self._pools.lend(None):
            return self

    def close(self) -> None:
        """Close the client's own connections. Waits up to 2 s for sinks to take pending events."""
        self._pools.close()
        self._teller.emitter.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @overload
    def enqueue(
        self,
        task: HandlerDefinition[[], R],
        /,
        payload: None = None,
        *,
        connection: Joinable | None = None,
        **options: Unpack[TaskOptions],
    ) -> Enqueued[R]: ...

    @overload
    def enqueue(self, task: HandlerDefinition[P, R], /, *args: P.args, **payload: P.kwargs) -> Enqueued[R]: ...

    @overload
    def enqueue(
        self,
        task: HandlerDefinition[..., R],
        /,
        payload: Payload,
        *,
        connection: Joinable | None = None,
        **options: Unpack[TaskOptions],
    ) -> Enqueued[R]: ...

    @overload
    def enqueue(
        self,
        task: NewTask[R],
        /,
        payload: None = None,
        *,
        connection: Joinable | None = None,
        **options: Unpack[TaskOptions],
    ) -> Enqueued[R]: ...

    @overload
    def enqueue(
        self,
        task: str,
        /,
        payload: Payload | None = None,
        *,
        connection: Joinable | None = None,
        **options: Unpack[TaskOptions],
    ) -> Enqueued[Any]: ...

    def enqueue(self, task: AnyTask, /, *args: Any, **words: Any) -> Enqueued[Any]:
        """Store one task: `enqueue(greet, name="Ada")`, `enqueue(greet, {"name": "Ada"}, priority=5)`, or a ready
        one.

        Type checkers check keyword arguments against the handler's parameters. To set options with them, use
        `greet.using(priority=5)`. Raises InvalidTask, InvalidPayload, ContractBroken, UnknownRole and TypeError.
        """
        try:
            new_task, connection = task_and_connection(task, args, words, self._app)
        except ContractBroken as error:
            self._teller.emit_misfit(error)
            raise
        return self.enqueue_many([new_task], connection=connection)[0]

    def enqueue_many(self, batch: Iterable[NewTask[R]], *, connection: Joinable | None = None) -> list[Enqueued[R]]:
        """Store a batch of any size, all or nothing. The results are in the order of the batch."""
        try:
            admitted = list(admitted_tasks(batch, self._app))
        except ContractBroken as error:
            self._teller.emit_misfit(error)
            raise
        new_tasks = with_large_values_stored(admitted, self._app)
        if not new_tasks:
            return []
        with nullcontext() if self._tracing is None else self._tracing.trace_enqueue(new_tasks) as enqueue_trace:
            statements = enqueue.enqueue_chunks(
                new_tasks,
                trace_context=enqueue_trace.trace_context if enqueue_trace else None,
                is_confidential=has_hidden_values(new_tasks, self._app),
            )
            self._declare(connection)
            with (
                self._teller.collect(STORED, joined=connection) as collector,
                self._pools.lend(connection) as here,
            ):
                if isinstance(here, Foreign):
                    require_binding(here, new_tasks, self._app)
                try:
                    chunks = run_all(here, statements, collector)
                except UnknownRole as error:
                    suggest_handlers(error, new_tasks, self._app)
            answers = list(chain.from_iterable(chunks))
            if enqueue_trace is not None:
                enqueue_trace.note_stored(answers)
        if THIS_PROCESS.subscribers:
            notify_workers(self, WAKE_CHANNEL, connection)
        return answers

    @overload
    def get(self, task: Enqueued[R]) -> Task[R]: ...

    @overload
    def get(self, task: int) -> Task[Any]: ...

    def get(self, task: Enqueued[Any] | int) -> Task[Any]:
        """Return a task, open or finished. Raises TaskNotFound.

        The result has the handler's type if the task is an Enqueued, and consists of JSON values if it is an id.
        """
        return as_declared(returns_of(task), self._run(tasks.get(id_of(task))))

    @overload
    def wait(self, task: Enqueued[R], timeout: float = inf) -> Task[R]: ...

    @overload
    def wait(self, task: int, timeout: float = inf) -> Task[Any]: ...

    def wait(self, task: Enqueued[Any] | int, timeout: float = inf) -> Task[Any]:
        """Return the task, as `get` does, once it has finished. Raises WaitTimeout and TaskNotFound."""
        late = WaitTimeout(task_id=id_of(task), seconds=timeout)
        return poll_until(lambda: self.get(task), lambda found: found.is_finished, late)

    def _run(self, statement: Statement[T], joined: Joinable | None = None) -> T:
        with (
            self._teller.collect(statement.event_kinds, joined=joined) as collector,
            self._pools.lend(joined) as connection,
        ):
            return run(connection, statement, collector)

    def _run_and_notify(self, channel: str, statement: Statement[T], joined: Joinable | None) -> T:
        """Run a statement and notify in-process workers, which receive no other notification."""
        answer = self._run(statement, joined)
        if THIS_PROCESS.subscribers:
            notify_workers(self, channel, joined)
        return answer

    def _declare(self, joined: Joinable | None) -> None:
        if self._app is None or not self._undeclared:
            return
        self._app.check()
        # If the caller's transaction might roll back, the app stays undeclared.
        foreign = joined if self._joins_only else None
        self._run(roles.declare(*self._app.declaration()), foreign)
        if foreign is None and self._app.key_capacities:
            # The caller's transaction would block the completion of these keys' tasks until it ends.
            self._run(keys.declare(self._app.key_capacities))
        self._undeclared = foreign is not None
