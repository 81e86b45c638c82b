"""The contexts that handlers get in addition to their payload."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, ParamSpec, TypeVar, overload

from rolecall.app.handlers import HandlerDefinition
from rolecall.config import failpoints
from rolecall.db.after_commit import AfterCommit, Call
from rolecall.db.joined import join, join_async
from rolecall.db.run import run, run_async
from rolecall.model.errors import AlreadyCompleted, HandlerAborted, LeaseLost
from rolecall.model.handlers import TaskContext
from rolecall.model.outcomes import Completed
from rolecall.model.states import LostReason
from rolecall.model.tasks import Child, ClaimedTask, Needed, NewTask, NextTasks
from rolecall.model.transactions import AsyncJoinable, Joinable
from rolecall.sql import claims, outside, structure
from rolecall.sql.encoding import encode_result
from rolecall.sql.events import EventCollector
from rolecall.telemetry.tracing import step
from rolecall.worker.attempt_context import AttemptContext
from rolecall.worker.handler_services import Connection, HandlerServices
from rolecall.worker.handler_transactions import open_transaction
from rolecall.worker.in_flight import HeldTask
from rolecall.worker.outcomes import check_contract, is_last_step, unstored_failure
from rolecall.worker.program import Contract
from rolecall.worker.relatives import children_of, needs_of

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

ACCEPTED_BEFORE = "already"


class Context(AttemptContext):
    """One attempt at one task, as its handler sees it.

        async def bill(ctx: Context, customer: int) -> dict[str, int]:
            pages = await render(customer, idempotency_key=ctx.idempotency_key)
            await ctx.info({"pages": len(pages)})
            async with ctx.transaction() as tx:
                await save(tx, pages)
                ctx.follow_up(send.task(customer=customer))
                await ctx.complete(tx, {"pages": len(pages)})

    Handlers in threads call the async methods through `wait`.
    """

    __slots__ = ("_held", "_next", "_services")

    def __init__(self, held: HeldTask, services: HandlerServices) -> None:
        self._held = held
        self._services = services
        self._next: NextTasks | None = None

    @property
    def task(self) -> ClaimedTask:
        """The task as it was claimed."""
        return self._held.task

    @property
    def worker_id(self) -> int:
        """The worker's id in the worker registry."""
        return self._held.worker_id

    @property
    def aborted(self) -> LostReason | None:
        """Why this handler must stop; None while it may continue."""
        return self._held.abort_reason

    def check(self) -> None:
        """Raise HandlerAborted if this handler must stop. Handlers in threads should call it regularly."""
        if failpoints.ARMED:
            failpoints.hit(failpoints.MID_HANDLER)
        if self._held.abort_reason is not None:
            raise HandlerAborted(reason=self._held.abort_reason)

    @property
    def parent_id(self) -> int | None:
        """The id of the parent, if the task is a child."""
        return self._held.task.parent_id

    @property
    def step(self) -> int:
        """How often all children of this task have finished; 0 in its first step."""
        return self._held.task.step

    @property
    def last_error(self) -> str | None:
        """The error of the previous attempt, if it had one."""
        return self._held.task.last_error

    @property
    def next_tasks(self) -> NextTasks | None:
        """The tasks that this attempt has requested so far. They are stored when the task completes."""
        return self._next

    def follow_up(self, *tasks: NewTask) -> None:
        """Enqueue tasks in the transaction that completes this task. Each starts its own chain."""
        self._collect().follow_ups.extend(tasks)

    def continue_with(self, task: NewTask) -> None:
        """Continue this task's chain with another task. Raises InvalidTask for a second one."""
        self._collect().continue_with(task)

    def spawn(self, *tasks: NewTask, serial: bool = False) -> None:
        """Add children, which start when this step has returned. The task waits for them without a slot.

        Serial children run one after the other, whatever their outcomes. After the last child the task completes, or
        continues with its `gather` step. Raises InvalidTask if serial and parallel children are mixed.
        """
        self._collect().spawn(tasks, serial=serial)

    def spawn_sibling(self, *tasks: NewTask) -> None:
        """Add children to this task's own parent."""
        self._collect().siblings.extend(tasks)

    @overload
    async def children(self) -> list[Child]: ...

    @overload
    async def children(self, of: HandlerDefinition[..., R]) -> list[Child[R]]: ...

    async def children(self, of: HandlerDefinition[..., Any] | None = None) -> list[Child]:
        """Return the children with their outcomes, in the order in which they were spawned.

        With a handler, return only its tasks, with results of its declared type. Otherwise results are JSON values.
        """
        found = await self._services.session.run(structure.children(self._held.task.id))
        return children_of(found, of)

    @overload
    async def needs(self) -> list[Needed]: ...

    @overload
    async def needs(self, of: HandlerDefinition[..., R]) -> list[Needed[R]]: ...

    async def needs(self, of: HandlerDefinition[..., Any] | None = None) -> list[Needed]:
        """Return this task's needs with their outcomes, in the order in which they were declared.

        With a handler, return only its tasks, with results of its declared type. Otherwise results are JSON values.
        """
        found = await self._services.session.run(structure.needs(self._held.task.id))
        return needs_of(found, of)

    async def failed_siblings(self) -> int:
        """Return how many children of the same parent have failed or were cancelled so far."""
        return await self._services.session.run(structure.failed_siblings(self._held.task.id))

    async def info(self, facts: Mapping[str, object]) -> None:
        """Merge facts into the task's info, visible at once. Raises HandlerAborted if the claim is lost."""
        task = self._held.task
        lost = await self._services.session.run(claims.report_info(self._held.worker_id, task.id, task.fence, facts))
        if lost is not None:
            raise HandlerAborted(reason=LostReason(lost))

    async def issue_token(self, *, ttl: float = outside.TOKEN_TTL) -> str:
        """Return a completion token for this task, valid for `ttl` seconds.

        Pass it to the system that will respond, and return a Snooze as long as the wait. Raises InvalidTask.
        """
        return await self._services.session.run(outside.issue_token(self._held.task.id, ttl))

    @asynccontextmanager
    async def prepare(self) -> AsyncIterator[Connection]:
        """Open a transaction for reads at the start of a handler. It cannot complete the task.

        Raises HandlerAborted if the claim is already lost.
        """
        task = self._held.task
        with step(self._services.tracing, "prepare"):
            async with self.transaction() as tx:
                lost = await run_async(tx, claims.find_lost(self._held.worker_id, [task.claim]))
                if task.id in lost:
                    raise HandlerAborted(reason=LostReason(lost[task.id]))
                yield tx

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Open a transaction. After `complete` in it, its commit finishes the task.

        It can be repeated if the commit was not acknowledged: either the first commit failed, or `complete` raises
        AlreadyCompleted. That error rolls back the repetition and counts as success.
        """
        async with open_transaction(self._services, {self: self._held}) as tx:
            yield tx

    def written(self, result: object) -> object:
        """Return a result as JSON values of its declared type, if there is one. Raises ContractBroken."""
        contract = self._contract
        if contract is None or contract.returns is None or not is_last_step(contract, self.task, self._next):
            return result
        return contract.returns.write(result)

    def after_commit(self, call: Call) -> None:
        """Call a function after the commit: an async function is awaited, another one runs in a thread.

        Within `transaction()`, the commit is that of the transaction; the rollback of a savepoint discards its
        calls. Elsewhere, it is that of the task's outcome, if this attempt completes the task. Nothing is called
        after a failure, a snooze, a lost claim or a rollback. Functions are called in order and at most once;
        errors are logged. Use a follow-up for anything that must not be lost.
        """
        if surrounding := AfterCommit.of(self):
            surrounding.add(call)
        else:
            self._services.afterwards.add(self._held, call)

    async def complete(self, tx: AsyncJoinable, result: object = None) -> None:
        """Complete the task, with the follow-ups so far, in a transaction.

        `tx` is the connection of `transaction()`, or your own connection or session (asyncpg, SQLAlchemy's asyncio,
        psycopg). If your transaction is rolled back, the handler's result or error counts instead. Call this last
        and end the transaction soon, because it locks the task's row. Repeating the call within the transaction
        changes nothing.

        Raises HandlerAborted if the claim is lost, or if the outcome of the previous task of the key's sequence is
        not stored within 2 seconds (the task is then returned and runs again later). Raises AlreadyCompleted if an
        earlier transaction has completed the task. After these errors, roll back your transaction; `transaction()`
        does so even if the error is caught. Raises ContractBroken for a result of the wrong type, and TypeError for
        a result that was not awaited.
        """
        connection = join_async(tx)
        await self._services.in_flight.wait_for_turn(self._held)
        stored, next_tasks = self._check_result(result)
        next_tasks = await self._services.large.detach(next_tasks)
        report, collector = self._build_report(stored, next_tasks, tx)
        with step(self._services.tracing, "complete"):
            statement = claims.finish_here(self._held.worker_id, [report])
            self._require_accepted(await run_async(connection, statement, collector))

    def complete_sync(self, tx: Joinable, result: object = None) -> None:
        """Complete the task in a transaction, as `complete` does, from a synchronous handler.

        `tx` is your own connection or session: psycopg, psycopg2, SQLAlchemy, SQLModel or Django.
        """
        connection = join(tx)
        if self._held.predecessor is not None:
            self.wait(self._services.in_flight.wait_for_turn(self._held))
        stored, next_tasks = self._check_result(result)
        next_tasks = self._services.large.detach_now(next_tasks)
        report, collector = self._build_report(stored, next_tasks, tx)
        with step(self._services.tracing, "complete"):
            self._require_accepted(run(connection, claims.finish_here(self._held.worker_id, [report]), collector))

    def _check_result(self, result: object) -> tuple[object, NextTasks | None]:
        return check_contract(self._services.contracts, self.task, result, self._next)

    def _build_report(
        self, result: object, next_tasks: NextTasks | None, tx: object
    ) -> tuple[Completed, EventCollector | None]:
        self.check()
        held, task = self._held, self._held.task
        if next_tasks is not None and self._services.tracing is not None:
            self._services.tracing.trace_next(next_tasks)
        report = Completed(
            id=task.id,
            fence=task.fence,
            result_json=None if result is None else self._encode(result),
            ran=held.run_seconds,
            next_tasks=next_tasks,
        )
        surrounding = AfterCommit.of(self)
        if surrounding is None or surrounding.connection is not tx:
            held.unseen_completion = report
            return report, None
        held.is_finishing = True
        held.report = report
        if self._services.events.needs_end_events:
            held.collector = self._services.events.collector([held])
        return report, held.collector

    def _require_accepted(self, verdicts: dict[int, str]) -> None:
        if (verdict := verdicts.get(self.task_id)) is not None:
            self._held.refusal = self._refusal(verdict)
            raise self._held.refusal from LeaseLost(task_id=self.task_id, reason=verdict)

    def _refusal(self, verdict: str) -> HandlerAborted:
        held, task = self._held, self._held.task
        if verdict == ACCEPTED_BEFORE:
            self.log.warning(
                "Task %d was already completed: the repeated transaction of its handler is rolled back", task.id
            )
            held.is_committed = True
            return AlreadyCompleted(task_id=task.id)
        held.abort_reason = LostReason(verdict)
        return HandlerAborted(reason=held.abort_reason)

    async def in_process(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function in a child process, which is killed if this handler must stop.

        For calls that may hang or block the loop. The function must be at the top level of a module; its arguments and
        result are pickled. Raises HandlerError if the function raises or the process dies, and InvalidDeclaration for a
        function that the process cannot import.
        """
        self.check()
        return await self._services.processes.call(function, *args, **kwargs)

    def _encode(self, result: object) -> str:
        text, why = encode_result(result)
        if why is not None:
            if error := unstored_failure(result, why, handler=self.handler, contract=self._contract):
                raise error
            self.log.warning("The result of task %d (%s) was not stored: %s", self.task_id, self.handler, why)
        return text

    @property
    def _contract(self) -> Contract | None:
        return self._services.contracts.get(self.handler)

    def _collect(self) -> NextTasks:
        if self._next is None:
            self._next = NextTasks()
        return self._next

    def wait(self, call: Coroutine[Any, Any, T]) -> T:
        """Run one of the async methods from a handler in a thread: `ctx.wait(ctx.info({...}))`."""
        return asyncio.run_coroutine_threadsafe(call, self._services.loop).result()


class BatchContext(TaskContext):
    """The contexts of one batch call, in the order of its items."""

    __slots__ = ("_services", "tasks")

    def __init__(self, contexts: Sequence[Context], services: HandlerServices) -> None:
        self.tasks = tuple(contexts)
        self._services = services

    @property
    def aborted(self) -> LostReason | None:
        """Why the whole call must stop; None while any of its tasks may continue."""
        reasons = [context.aborted for context in self.tasks]
        return reasons[0] if all(reasons) else None

    def check(self) -> None:
        """Raise HandlerAborted if every task of this call must stop."""
        if self.aborted is not None:
            raise HandlerAborted(reason=self.aborted)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Open a transaction. Its commit finishes the tasks that were completed in it."""
        held = {context: context._held for context in self.tasks}  # noqa: SLF001 - the two classes belong together
        async with open_transaction(self._services, held) as tx:
            yield tx
