"""The async face of the client; every method but the plumbing is one line over a statement."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from math import inf
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

import psycopg
from psycopg_pool import AsyncConnectionPool

from rolecall.app import App
from rolecall.client.join import join_async
from rolecall.client.requests import AnyTask, TaskOptions, new_task, several
from rolecall.client.source import Source
from rolecall.client.waiting import pauses
from rolecall.db.connect import async_pool
from rolecall.db.run import run_all_async, run_async, translated
from rolecall.model.errors import WaitTimeout
from rolecall.model.insight import RoleCount
from rolecall.model.tasks import Enqueued, NewTask, Task
from rolecall.sql import insight, roles, tasks
from rolecall.sql.statement import Statement

__all__ = ["AsyncClient"]

T = TypeVar("T")
Pool = AsyncConnectionPool[Any]


class AsyncClient:
    """Enqueues tasks and asks about them; belongs to one event loop.

        async with AsyncClient("postgresql://...", app=app) as client:
            task = await client.enqueue(fetch, {"store": 7}, priority=5)
            print((await client.wait(task.id, timeout=30)).result)

    `database` is a connection string or a psycopg pool (which stays yours to close); without one it is
    DATABASE_URL, else the embedded server. Connections are opened when first needed. With `app`, its roles
    and handlers are declared before the first enqueue. `connection=` joins your own transaction: nothing
    is committed but by you.
    """

    def __init__(self, database: str | Pool | None = None, *, app: App | None = None) -> None:
        self._source = Source(database if isinstance(database, str) else None)
        self._given = database if isinstance(database, AsyncConnectionPool) else None
        self._own: Pool | None = None
        self._app = app
        self._undeclared = app is not None
        self._joins_only = database is None
        self._turn = asyncio.Lock()

    async def open(self) -> Self:
        """Connect now instead of at the first call."""
        async with self._connection(None):
            return self

    async def close(self) -> None:
        """Close the connections that are the client's own."""
        async with self._turn:
            own, self._own = self._own, None
            if own is not None:
                await own.close()
            await asyncio.to_thread(self._source.detach)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def enqueue(
        self,
        task: AnyTask,
        payload: Mapping[str, object] | None = None,
        *,
        connection: psycopg.AsyncConnection[Any] | None = None,
        **options: Unpack[TaskOptions],
    ) -> Enqueued:
        """Store one task; raises InvalidTask, InvalidPayload, UnknownRole."""
        batch = [new_task(task, payload, options, self._app)]
        return (await self.enqueue_many(batch, connection=connection))[0]

    async def enqueue_many(
        self, batch: Iterable[NewTask], *, connection: psycopg.AsyncConnection[Any] | None = None
    ) -> list[Enqueued]:
        """Store a batch of any size, all or nothing; the answers come in the order of the batch."""
        statements = tasks.enqueue_chunks(batch)
        if not statements:
            return []
        await self._declare(connection)
        async with self._connection(connection) as here:
            chunks = await run_all_async(here, statements)
        return [stored for chunk in chunks for stored in chunk]

    async def get(self, task_id: int) -> Task:
        """Read a task, open or finished; raises TaskNotFound."""
        return await self._run(tasks.get(task_id))

    async def wait(self, task_id: int, timeout: float = inf) -> Task:
        """Return the task when it has finished, however it did; raises WaitTimeout, TaskNotFound."""
        deadline = time.monotonic() + timeout
        for pause in pauses():
            task = await self.get(task_id)
            if task.is_finished:
                return task
            left = deadline - time.monotonic()
            if left <= 0:
                break
            await asyncio.sleep(min(pause, left))
        raise WaitTimeout(task_id=task_id, seconds=timeout)

    async def cancel(
        self, ids: int | Iterable[int], *, connection: psycopg.AsyncConnection[Any] | None = None
    ) -> dict[int, str]:
        """Cancel tasks; each is cancelled, requested (it was running), finished or missing."""
        return await self._run(tasks.cancel(several(ids)), connection)

    async def retry(
        self, ids: int | Iterable[int], *, connection: psycopg.AsyncConnection[Any] | None = None
    ) -> dict[int, str]:
        """Put failed and cancelled tasks back; each is pending, open, completed, duplicate or missing."""
        return await self._run(tasks.retry(several(ids)), connection)

    async def counts(self) -> list[RoleCount]:
        """Count the tasks of each role and state."""
        return await self._run(insight.counts())

    async def _run(self, statement: Statement[T], joined: psycopg.AsyncConnection[Any] | None = None) -> T:
        async with self._connection(joined) as connection:
            return await run_async(connection, statement)

    async def _declare(self, joined: psycopg.AsyncConnection[Any] | None) -> None:
        if self._app is None or not self._undeclared:
            return
        # Within a foreign transaction that may still roll back, nothing is declared for good.
        foreign = joined if self._joins_only else None
        await self._run(roles.declare(*self._app.declaration()), foreign)
        self._undeclared = foreign is not None

    @asynccontextmanager
    async def _connection(
        self, joined: psycopg.AsyncConnection[Any] | None
    ) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        if joined is not None:
            with translated():
                yield join_async(joined)
            return
        with translated():
            async with (await self._pool()).connection() as connection:
                yield connection

    async def _pool(self) -> Pool:
        if self._given is not None:
            return self._given
        async with self._turn:
            if self._own is None:
                own = async_pool(await asyncio.to_thread(self._source.attach), "client")
                await own.open()
                self._own = own
            return self._own
