"""A chain that a transaction has locked, to be completed or failed step by step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self, TypeVar

from rolecall.app import App
from rolecall.client.requests import next_tasks_of, next_tasks_of_async
from rolecall.db.foreign import AsyncForeign, Foreign
from rolecall.db.joined import AnyConnection, AsyncAnyConnection
from rolecall.db.run import is_free, run, run_async
from rolecall.model.errors import ChainError, ConfigError
from rolecall.model.tasks import NewTask, Task
from rolecall.sql import chains, outside, tasks
from rolecall.sql.events import EventCollector
from rolecall.sql.statement import Statement

T = TypeVar("T")
NO_TRANSACTION = "is not in a transaction, but the lock lasts only as long as one"


class HeldChain:
    """A chain that others cannot change until the transaction ends.

    `task` is the open task. After `complete` it is the continuation, or None if the chain has finished.
    """

    def __init__(
        self, connection: AnyConnection, chain_id: int, app: App | None, collector: EventCollector | None
    ) -> None:
        self._connection = connection
        self._app = app
        self._collector = collector
        self.id = chain_id
        self.task: Task | None = None

    def hold(self) -> Self:
        """Lock and read the open task. Raises ChainNotFound."""
        self.task = None
        held = self._run(chains.hold(self.id))
        if held is not None:
            self.task = self._run(tasks.get(held))
        return self

    def complete(
        self, result: object = None, *, continue_with: NewTask | None = None, follow_ups: Iterable[NewTask] = ()
    ) -> None:
        """Complete the open task. Raises ChainError if there is none, InvalidTask and UnknownRole."""
        task = _open_task(self.id, self.task)
        self._run(outside.complete(task.id, result, next_tasks_of(continue_with, follow_ups, self._app)))
        self.hold()

    def fail(self, error: str) -> None:
        """Fail the open task, and thus the chain. Raises ChainError if there is none."""
        self._run(outside.fail(_open_task(self.id, self.task).id, error))
        self.hold()

    def _run(self, statement: Statement[T]) -> T:
        return run(self._connection, statement, self._collector if statement.event_kinds else None)


class AsyncHeldChain:
    """The async version of HeldChain."""

    def __init__(
        self, connection: AsyncAnyConnection, chain_id: int, app: App | None, collector: EventCollector | None
    ) -> None:
        self._connection = connection
        self._app = app
        self._collector = collector
        self.id = chain_id
        self.task: Task | None = None

    async def hold(self) -> Self:
        """Lock and read the open task. Raises ChainNotFound."""
        self.task = None
        held = await self._run(chains.hold(self.id))
        if held is not None:
            self.task = await self._run(tasks.get(held))
        return self

    async def complete(
        self, result: object = None, *, continue_with: NewTask | None = None, follow_ups: Iterable[NewTask] = ()
    ) -> None:
        """Complete the open task. Raises ChainError if there is none, InvalidTask and UnknownRole."""
        task = _open_task(self.id, self.task)
        after = await next_tasks_of_async(continue_with, follow_ups, self._app)
        await self._run(outside.complete(task.id, result, after))
        await self.hold()

    async def fail(self, error: str) -> None:
        """Fail the open task, and thus the chain. Raises ChainError if there is none."""
        await self._run(outside.fail(_open_task(self.id, self.task).id, error))
        await self.hold()

    async def _run(self, statement: Statement[T]) -> T:
        return await run_async(self._connection, statement, self._collector if statement.event_kinds else None)


def require_transaction(connection: AnyConnection) -> AnyConnection:
    """Return the caller's connection. Raises ConfigError if it is not in a transaction."""
    if connection.is_free() if isinstance(connection, Foreign) else is_free(connection):
        raise ConfigError(NO_TRANSACTION, variable="connection")
    return connection


async def require_transaction_async(connection: AsyncAnyConnection) -> AsyncAnyConnection:
    """Return the caller's async connection. Raises ConfigError if it is not in a transaction."""
    if await connection.is_free() if isinstance(connection, AsyncForeign) else is_free(connection):
        raise ConfigError(NO_TRANSACTION, variable="connection")
    return connection


def _open_task(chain_id: int, task: Task | None) -> Task:
    if task is None:
        raise ChainError(f"chain {chain_id} has finished and has no open task")
    return task
