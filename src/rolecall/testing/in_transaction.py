"""Run an app's tasks in the test's own transaction, which the test can roll back.

The SQL functions and everything around a handler are real. There are no worker processes, slots, leases or time limits.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any, TypeVar, overload

import psycopg
from psycopg.conninfo import make_conninfo

from rolecall.app import App
from rolecall.db.run import run_async
from rolecall.model.errors import ConfigError, HandlerError, RolecallError
from rolecall.model.outcomes import Completed, Failed, Report
from rolecall.model.states import TaskState
from rolecall.model.tasks import ClaimedTask, NextTasks, Task
from rolecall.model.workers import Workplace
from rolecall.sql import claims, keys, outside, roles, tasks, workers
from rolecall.sql.statement import Statement
from rolecall.telemetry import Emitter
from rolecall.telemetry.context import current
from rolecall.testing.asking import in_a_loop, on_borrowed
from rolecall.worker.afterwards import AfterCommitCalls
from rolecall.worker.events import WorkerEvents
from rolecall.worker.execution import registry_of
from rolecall.worker.handler_services import HandlerServices
from rolecall.worker.in_flight import HeldTask, InFlight, run_isolated, uncancel_all
from rolecall.worker.large import LargeFields
from rolecall.worker.options import WorkerOptions
from rolecall.worker.outcomes import Outcomes
from rolecall.worker.registration import describe_worker
from rolecall.worker.runners import HandlerRegistry
from rolecall.worker.session import ForkGuard
from rolecall.worker.subprocess.pool import Processes

T = TypeVar("T")
AsyncConnection = psycopg.AsyncConnection[Any]
AFTERWARDS_WITHIN = 60.0


@overload
def inline(app: App, connection: psycopg.Connection[Any], *, most: int = 1_000, raising: bool = True) -> list[Task]: ...


@overload
def inline(
    app: App, connection: AsyncConnection, *, most: int = 1_000, raising: bool = True
) -> Awaitable[list[Task]]: ...


def inline(
    app: App, connection: psycopg.Connection[Any] | AsyncConnection, *, most: int = 1_000, raising: bool = True
) -> list[Task] | Awaitable[list[Task]]:
    """Run due tasks and everything that follows from them in the connection's transaction. Return the tasks.

        with connection.transaction(force_rollback=True):
            client.enqueue(bill, {"order": 7}, connection=connection)
            [task] = inline(app, connection)
            assert task.result == "billed 7"

    With an async connection, await the call. Follow-ups, continuations, children and parents run; retries run at once.
    Tasks scheduled or snoozed for later do not run. Each task is returned once, in its final state, in the order of
    first starts. Nothing is committed: handlers' transactions become savepoints, and after-commit calls run when those
    are released.

    If a task fails permanently, its failure is stored and its exception raised here, unless `raising=False`. Raises
    ConfigError outside of a transaction and RuntimeError after `most` attempts.
    """
    status = connection.info.transaction_status
    if connection.autocommit and status is psycopg.pq.TransactionStatus.IDLE:
        raise ConfigError("is not in a transaction: begin one that your test rolls back", variable="connection")
    if isinstance(connection, psycopg.AsyncConnection):
        return _run(app, connection, most, raising=raising)
    return in_a_loop(lambda: on_borrowed(connection, lambda borrowed: _run(app, borrowed, most, raising=raising)))


async def _run(app: App, connection: AsyncConnection, most: int, *, raising: bool) -> list[Task]:
    app.check()
    session = InTransaction(connection)
    info = describe_worker(WorkerOptions(name="inline"), app.handlers)
    worker_id = await session.run(workers.register(info))
    await session.run(roles.declare(*app.declaration()))
    await session.run(keys.declare(app.key_capacities))
    found = connection.info
    async with app.lifespan(Workplace(dsn=make_conninfo(found.dsn, password=found.password))):
        inline_runner = InlineRunner(app, session, worker_id, raising=raising)
        try:
            return await inline_runner.run(most)
        finally:
            await inline_runner.close()
            if found.transaction_status is psycopg.pq.TransactionStatus.INTRANS:
                await session.run(workers.deregister(worker_id))


class InTransaction:
    """Uses the test's connection in place of a worker's session and pool. Each statement has its own savepoint."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def run(self, statement: Statement[T]) -> T:
        async with self._connection.transaction():
            return await run_async(self._connection, statement)

    async def open(self) -> None:
        """Do nothing: the connection is open."""

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncConnection]:
        yield self._connection


class InlineRunner:
    """Claims, runs and finishes one call of a handler after the other."""

    def __init__(self, app: App, session: InTransaction, worker_id: int, *, raising: bool) -> None:
        self._session = session
        self._worker_id = worker_id
        self._raising = raising
        self._in_flight = InFlight()
        self._writer = InlineWriter()
        self._afterwards = AfterCommitCalls()
        self._processes = Processes(ForkGuard(), app.carried)
        self._ran: dict[int, None] = {}  # in the order of their first starts
        events = WorkerEvents(Emitter(), "inline")  # no sinks: events must not describe what may be rolled back
        contracts = app.contracts()
        intakes = {name: handler.intake for name, handler in app.handlers.items()}
        self._outcomes = RememberedOutcomes(self._writer, events, contracts, intakes)
        services = HandlerServices(
            session,
            session,
            self._in_flight,
            asyncio.get_running_loop(),
            contracts,
            self._processes,
            ForkGuard(),
            self._afterwards,
            events,
            large=LargeFields(app.large, app.handlers),
        )
        self._registry: HandlerRegistry = registry_of(app, services, self._outcomes)

    async def run(self, most: int) -> list[Task]:
        attempts = 0
        while together := await self._claim():
            attempts += len(together)
            if attempts > most:
                raise RuntimeError(f"tasks are left after {most} attempts: does one enqueue itself, or never succeed?")
            await self._work(together)
        return [await self._session.run(tasks.get(task_id)) for task_id in self._ran]

    async def close(self) -> None:
        await self._processes.close()

    async def _claim(self) -> list[HeldTask]:
        runners, claimed = self._registry.runners, await self._take(self._registry.names, 1)
        for task in claimed[:1]:
            claimed += await self._take((task.handler,), runners[task.handler, task.step > 0].max_tasks - 1)
        now = monotonic()
        return [HeldTask(task, runners[task.handler, task.step > 0], self._worker_id, now) for task in claimed]

    async def _take(self, handlers: Sequence[str], number: int) -> list[ClaimedTask]:
        if number < 1:
            return []
        return await self._session.run(claims.claim(self._worker_id, (), handlers, number))

    async def _work(self, together: list[HeldTask]) -> None:
        self._ran |= dict.fromkeys(held.task.id for held in together)
        self._in_flight.take(together)
        first, *others = together
        slot = InlineSlot(others)
        await run_isolated(first.runner.run(first, slot))
        for held in self._writer.take():
            await self._finish(held)
        self._in_flight.drop(together)

    async def _finish(self, held: HeldTask) -> None:
        task = held.task
        verdicts: dict[int, str] = {}
        if not held.is_committed:
            try:
                verdicts = await self._report(held.report)
            except RolecallError as error:
                self._outcomes.errors[task.id] = error
                held.report = Failed(id=task.id, fence=task.fence, error=f"the outcome was rejected: {error}")
                verdicts = await self._report(held.report)
        self._afterwards.make_calls([held], verdicts)
        await self._afterwards.settle(AFTERWARDS_WITHIN)
        if type(held.report) is Failed:
            await self._raise_failure(task.id)

    async def _report(self, report: Report | None) -> dict[int, str]:
        return await self._session.run(claims.finish(self._worker_id, [report] if report else []))

    async def _raise_failure(self, task_id: int) -> None:
        task = await self._session.run(tasks.get(task_id))
        if task.state is TaskState.PENDING:
            await self._session.run(outside.trigger([task_id]))
        elif task.state is TaskState.FAILED and self._raising:
            raise self._outcomes.errors.get(task_id) or HandlerError(task.error or "the task failed")


class InlineWriter:
    """The finished tasks of one call."""

    def __init__(self) -> None:
        self._ended: list[HeldTask] = []

    def add(self, held: HeldTask) -> None:
        self._ended.append(held)

    def store_own_completion(self, held: HeldTask) -> None:
        if held.report is None:
            held.report = Completed(id=held.task.id, fence=held.task.fence)
        self._ended.append(held)

    def give_back(self, held_tasks: Iterable[HeldTask]) -> None:
        """Do nothing: the test itself was interrupted."""

    def lost(self, held: HeldTask) -> None:
        """Do nothing: the task was deleted, or another worker owns it."""

    def take(self) -> list[HeldTask]:
        ended, self._ended = self._ended, []
        return ended


class RememberedOutcomes(Outcomes):
    """Stores the exceptions of handlers, so that the test gets them with their traceback."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.errors: dict[int, BaseException] = {}

    def report_result(
        self, held: HeldTask, result: object, next_tasks: NextTasks | None = None, *, checked: bool = False
    ) -> None:
        if isinstance(result, BaseException):
            self.errors[held.task.id] = result
        super().report_result(held, result, next_tasks, checked=checked)

    def report_error(self, held: HeldTask, error: BaseException, together: Sequence[HeldTask] = ()) -> None:
        self.errors[held.task.id] = error
        super().report_error(held, error, together)


class InlineSlot:
    """A slot for one call, in the test's own asyncio task."""

    def __init__(self, others: list[HeldTask]) -> None:
        self.running_tasks: Sequence[HeldTask] = ()
        self._others = others
        self._test = asyncio.current_task()

    def occupy(self, held_tasks: Sequence[HeldTask]) -> None:
        for held in held_tasks:
            held.slot = self
        self.running_tasks = held_tasks
        current.set(held_tasks)

    async def record_starts(self, held_tasks: Iterable[HeldTask]) -> None:
        """Do nothing: the claim has recorded the starts."""

    def begin(self, held_tasks: Sequence[HeldTask]) -> Sequence[HeldTask]:
        for held in held_tasks:
            held.began_at = monotonic()
        return held_tasks

    def interrupt(self) -> None:
        """Do nothing: handlers are not aborted here."""

    def absorb(self) -> bool:
        """Absorb a cancellation of the attempt. Return False if the test itself is being cancelled."""
        if self._test is not None and self._test.cancelling():
            return False
        uncancel_all(asyncio.current_task())
        return True

    def take_like(self, held: HeldTask, most: int) -> list[HeldTask]:  # noqa: ARG002 - already claimed
        others, self._others = self._others, []
        return others

    def call_in_thread(self, function: Callable[..., T], *arguments: object) -> Awaitable[T]:
        return asyncio.to_thread(function, *arguments)
