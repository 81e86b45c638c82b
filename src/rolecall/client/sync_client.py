"""The sync face of the client; every method but the plumbing is one line over a statement."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import inf
from threading import Lock
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

import psycopg
from psycopg_pool import ConnectionPool

from rolecall.app import App
from rolecall.client.join import join
from rolecall.client.requests import AnyTask, TaskOptions, new_task, several
from rolecall.client.source import Source
from rolecall.client.waiting import pauses
from rolecall.db.connect import pool
from rolecall.db.run import run, run_all, translated
from rolecall.model.errors import WaitTimeout
from rolecall.model.insight import RoleCount
from rolecall.model.tasks import Enqueued, NewTask, Task
from rolecall.sql import insight, roles, tasks
from rolecall.sql.statement import Statement

__all__ = ["Client"]

T = TypeVar("T")
Pool = ConnectionPool[Any]


class Client:
    """Enqueues tasks and asks about them; safe to share between threads.

        with Client("postgresql://...", app=app) as client:
            task = client.enqueue(fetch, {"store": 7}, priority=5)
            print(client.wait(task.id, timeout=30).result)

    `database` is a connection string or a psycopg pool (which stays yours to close); without one it is
    DATABASE_URL, else the embedded server. Connections are opened when first needed. With `app`, its roles
    and handlers are declared before the first enqueue. `connection=` joins your own transaction: nothing
    is committed but by you.
    """

    def __init__(self, database: str | Pool | None = None, *, app: App | None = None) -> None:
        self._source = Source(database if isinstance(database, str) else None)
        self._given = database if isinstance(database, ConnectionPool) else None
        self._own: Pool | None = None
        self._app = app
        self._undeclared = app is not None
        self._joins_only = database is None
        self._turn = Lock()

    def open(self) -> Self:
        """Connect now instead of at the first call."""
        with self._connection(None):
            return self

    def close(self) -> None:
        """Close the connections that are the client's own."""
        with self._turn:
            own, self._own = self._own, None
            if own is not None:
                own.close()
            self._source.detach()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def enqueue(
        self,
        task: AnyTask,
        payload: Mapping[str, object] | None = None,
        *,
        connection: psycopg.Connection[Any] | None = None,
        **options: Unpack[TaskOptions],
    ) -> Enqueued:
        """Store one task; raises InvalidTask, InvalidPayload, UnknownRole."""
        return self.enqueue_many([new_task(task, payload, options, self._app)], connection=connection)[0]

    def enqueue_many(
        self, batch: Iterable[NewTask], *, connection: psycopg.Connection[Any] | None = None
    ) -> list[Enqueued]:
        """Store a batch of any size, all or nothing; the answers come in the order of the batch."""
        statements = tasks.enqueue_chunks(batch)
        if not statements:
            return []
        self._declare(connection)
        with self._connection(connection) as here:
            chunks = run_all(here, statements)
        return [stored for chunk in chunks for stored in chunk]

    def get(self, task_id: int) -> Task:
        """Read a task, open or finished; raises TaskNotFound."""
        return self._run(tasks.get(task_id))

    def wait(self, task_id: int, timeout: float = inf) -> Task:
        """Return the task when it has finished, however it did; raises WaitTimeout, TaskNotFound."""
        deadline = time.monotonic() + timeout
        for pause in pauses():
            task = self.get(task_id)
            if task.is_finished:
                return task
            left = deadline - time.monotonic()
            if left <= 0:
                break
            time.sleep(min(pause, left))
        raise WaitTimeout(task_id=task_id, seconds=timeout)

    def cancel(self, ids: int | Iterable[int], *, connection: psycopg.Connection[Any] | None = None) -> dict[int, str]:
        """Cancel tasks; each is cancelled, requested (it was running), finished or missing."""
        return self._run(tasks.cancel(several(ids)), connection)

    def retry(self, ids: int | Iterable[int], *, connection: psycopg.Connection[Any] | None = None) -> dict[int, str]:
        """Put failed and cancelled tasks back; each is pending, open, completed, duplicate or missing."""
        return self._run(tasks.retry(several(ids)), connection)

    def counts(self) -> list[RoleCount]:
        """Count the tasks of each role and state."""
        return self._run(insight.counts())

    def _run(self, statement: Statement[T], joined: psycopg.Connection[Any] | None = None) -> T:
        with self._connection(joined) as connection:
            return run(connection, statement)

    def _declare(self, joined: psycopg.Connection[Any] | None) -> None:
        if self._app is None or not self._undeclared:
            return
        # Within a foreign transaction that may still roll back, nothing is declared for good.
        foreign = joined if self._joins_only else None
        self._run(roles.declare(*self._app.declaration()), foreign)
        self._undeclared = foreign is not None

    @contextmanager
    def _connection(self, joined: psycopg.Connection[Any] | None) -> Iterator[psycopg.Connection[Any]]:
        if joined is not None:
            with translated():
                yield join(joined)
            return
        with translated(), self._pool().connection() as connection:
            yield connection

    def _pool(self) -> Pool:
        if self._given is not None:
            return self._given
        with self._turn:
            if self._own is None:
                own = pool(self._source.attach(), "client")
                own.open()
                self._own = own
            return self._own
