"""The client calls whose results have the type that a handler declares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import inf
from typing import Any, ParamSpec, TypeVar, Unpack, overload

from rolecall.app import App, HandlerDefinition
from rolecall.client.requests import AnyTask, ClientEvents, poll_until, poll_until_async, task_and_connection
from rolecall.model.errors import WaitTimeout
from rolecall.model.reading import ReadsResult
from rolecall.model.states import TaskState
from rolecall.model.tasks import Enqueued, NewTask, Task, TaskOptions
from rolecall.model.transactions import AsyncJoinable, Joinable
from rolecall.sql import tasks
from rolecall.sql.statement import Statement

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Payload = Mapping[str, object]


class TypedCalls(ABC):
    """`enqueue`, `get` and `wait` of the sync client."""

    _app: App | None
    _teller: ClientEvents

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
        with self._teller.emit_misfits():
            asked, connection = task_and_connection(task, args, words, self._app)
        return self.enqueue_many([asked], connection=connection)[0]

    @abstractmethod
    def enqueue_many(self, batch: Iterable[NewTask[R]], *, connection: Joinable | None = None) -> list[Enqueued[R]]:
        """Store a batch of any size, all or nothing. The results are in the order of the batch."""

    @overload
    def get(self, task: Enqueued[R]) -> Task[R]: ...

    @overload
    def get(self, task: int) -> Task[Any]: ...

    def get(self, task: Enqueued[Any] | int) -> Task[Any]:
        """Return a task, open or finished. Raises TaskNotFound.

        The result has the handler's type if the task is an Enqueued, and consists of JSON values if it is an id.
        """
        return as_declared(_returns(task), self._run(tasks.get(id_of(task))))

    @overload
    def wait(self, task: Enqueued[R], timeout: float = inf) -> Task[R]: ...

    @overload
    def wait(self, task: int, timeout: float = inf) -> Task[Any]: ...

    def wait(self, task: Enqueued[Any] | int, timeout: float = inf) -> Task[Any]:
        """Return the task, as `get` does, once it has finished. Raises WaitTimeout and TaskNotFound."""
        late = WaitTimeout(task_id=id_of(task), seconds=timeout)
        return poll_until(lambda: self.get(task), lambda found: found.is_finished, late)

    @abstractmethod
    def _run(self, statement: Statement[T], joined: Joinable | None = None) -> T: ...


class AsyncTypedCalls(ABC):
    """`enqueue`, `get` and `wait` of the async client."""

    _app: App | None
    _teller: ClientEvents

    @overload
    async def enqueue(
        self,
        task: HandlerDefinition[[], R],
        /,
        payload: None = None,
        *,
        connection: AsyncJoinable | None = None,
        **options: Unpack[TaskOptions],
    ) -> Enqueued[R]: ...

    @overload
    async def enqueue(self, task: HandlerDefinition[P, R], /, *args: P.args, **payload: P.kwargs) -> Enqueued[R]: ...

    @overload
    async def enqueue(
        self,
        task: HandlerDefinition[..., R],
        /,
        payload: Payload,
        *,
        connection: AsyncJoinable | None = None,
        **options: Unpack[TaskOptions],
    ) -> Enqueued[R]: ...

    @overload
    async def enqueue(
        self,
        task: NewTask[R],
        /,
        payload: None = None,
        *,
        connection: AsyncJoinable | None = None,
        **options: Unpack[TaskOptions],
    ) -> Enqueued[R]: ...

    @overload
    async def enqueue(
        self,
        task: str,
        /,
        payload: Payload | None = None,
        *,
        connection: AsyncJoinable | None = None,
        **options: Unpack[TaskOptions],
    ) -> Enqueued[Any]: ...

    async def enqueue(self, task: AnyTask, /, *args: Any, **words: Any) -> Enqueued[Any]:
        """Store one task: `enqueue(greet, name="Ada")`, `enqueue(greet, {"name": "Ada"}, priority=5)`, or a ready
        one.

        Type checkers check keyword arguments against the handler's parameters. To set options with them, use
        `greet.using(priority=5)`. Raises InvalidTask, InvalidPayload, ContractBroken, UnknownRole and TypeError.
        """
        with self._teller.emit_misfits():
            asked, connection = task_and_connection(task, args, words, self._app)
        return (await self.enqueue_many([asked], connection=connection))[0]

    @abstractmethod
    async def enqueue_many(
        self, batch: Iterable[NewTask[R]], *, connection: AsyncJoinable | None = None
    ) -> list[Enqueued[R]]:
        """Store a batch of any size, all or nothing. The results are in the order of the batch."""

    @overload
    async def get(self, task: Enqueued[R]) -> Task[R]: ...

    @overload
    async def get(self, task: int) -> Task[Any]: ...

    async def get(self, task: Enqueued[Any] | int) -> Task[Any]:
        """Return a task, open or finished. Raises TaskNotFound.

        The result has the handler's type if the task is an Enqueued, and consists of JSON values if it is an id.
        """
        return as_declared(_returns(task), await self._run(tasks.get(id_of(task))))

    @overload
    async def wait(self, task: Enqueued[R], timeout: float = inf) -> Task[R]: ...

    @overload
    async def wait(self, task: int, timeout: float = inf) -> Task[Any]: ...

    async def wait(self, task: Enqueued[Any] | int, timeout: float = inf) -> Task[Any]:
        """Return the task, as `get` does, once it has finished. Raises WaitTimeout and TaskNotFound."""
        late = WaitTimeout(task_id=id_of(task), seconds=timeout)
        return await poll_until_async(lambda: self.get(task), lambda found: found.is_finished, late)

    @abstractmethod
    async def _run(self, statement: Statement[T], joined: AsyncJoinable | None = None) -> T: ...


def id_of(task: Enqueued[Any] | int) -> int:
    """Return the id of a task."""
    return task if isinstance(task, int) else task.id


def as_declared(returns: ReadsResult | None, found: Task[Any]) -> Task[Any]:
    """Return the task with its result read as the declared type, or unchanged if there is no type or result."""
    if returns is None or found.state is not TaskState.COMPLETED:
        return found
    # Options may have given the task another handler than the one that built it.
    return replace(found, result=returns.read(found.result)) if found.handler == returns.handler else found


def _returns(task: Enqueued[Any] | int) -> ReadsResult | None:
    return None if isinstance(task, int) else task.returns
