"""What a handler is given besides its payload: who it is, whether it must stop, and what it may still write."""

from __future__ import annotations

import asyncio
import logging
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
from rolecall.model.tasks import Child, ClaimedTask, IdempotencyKey, Needed, NewTask, NextTasks
from rolecall.model.transactions import AsyncJoinable, Joinable
from rolecall.sql import claims, outside, structure
from rolecall.sql.documents import encode_result
from rolecall.sql.events import EventCollector
from rolecall.telemetry.tracing import step
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
log = logging.getLogger("rolecall.task")


class Context(TaskContext):
    """One attempt at one task, as its handler sees it.

    async def bill(ctx: Context, customer: int) -> dict[str, int]:
        pages = await render(customer, idempotency_key=ctx.idempotency_key)
        await ctx.info({"pages": len(pages)})
        async with ctx.transaction() as tx:
            await save(tx, pages)
            ctx.follow_up(send.task(customer=customer))
            await ctx.complete(tx, {"pages": len(pages)})
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
    def task_id(self) -> int:
        return self._held.task.id

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""
        return self._held.task.attempt

    @property
    def max_attempts(self) -> int:
        """After how many attempts the task fails for good; 0 = never."""
        return self._held.task.max_attempts

    @property
    def fence(self) -> int:
        """The number of this claim: higher than that of every earlier claim on the task."""
        return self._held.task.fence

    @property
    def key(self) -> str | None:
        return self._held.task.key

    @property
    def role(self) -> str:
        return self._held.task.role

    @property
    def handler(self) -> str:
        return self._held.task.handler

    @property
    def worker_id(self) -> int:
        """The worker's number in the roll call."""
        return self._held.worker_id

    @property
    def chain_id(self) -> int:
        """The id of the first task of the chain that this one belongs to."""
        return self._held.task.chain_id

    @property
    def idempotency_key(self) -> IdempotencyKey:
        """Show this to systems outside, so that they recognise a request that an attempt repeats: `id:step`.

        A step with several requests calls it with a suffix for each: `ctx.idempotency_key("mail")`.
        """
        return self._held.task.idempotency_key

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger whose records carry the task's id, handler and attempt."""
        task = self._held.task
        return logging.LoggerAdapter(log, {"task": task.id, "handler": task.handler, "attempt": task.attempt})

    @property
    def aborted(self) -> LostReason | None:
        """Why this handler must stop; None while it may go on."""
        return self._held.aborted

    def check(self) -> None:
        """Raise HandlerAborted if this handler must stop; handlers in threads call it between two steps."""
        if failpoints.ARMED:
            failpoints.hit(failpoints.MID_HANDLER)
        if self._held.aborted is not None:
            raise HandlerAborted(reason=self._held.aborted)

    @property
    def parent_id(self) -> int | None:
        """The task that waits for this one, if it is a child."""
        return self._held.task.parent_id

    @property
    def step(self) -> int:
        """How often the children of this task have all finished: 0 in its first step."""
        return self._held.task.step

    @property
    def last_error(self) -> str | None:
        """What the attempt before this one ended with, if it did not end well."""
        return self._held.task.last_error

    @property
    def next_tasks(self) -> NextTasks | None:
        """What this attempt has asked for so far; stored in the transaction that completes the task."""
        return self._next

    def follow_up(self, *tasks: NewTask) -> None:
        """Enqueue tasks, each at the head of a chain of its own, in the transaction that completes this one."""
        self._collect().follow_ups.extend(tasks)

    def continue_with(self, task: NewTask) -> None:
        """Let this task's chain go on with another; raise InvalidTask for a second one."""
        self._collect().continue_with(task)

    def spawn(self, *tasks: NewTask, serial: bool = False) -> None:
        """Let this task wait, without its slot, for children; they begin when this step has returned.

        Serial ones run one after the other, whatever becomes of each. The task completes with its last child,
        or goes on with its `gather` step. Raises InvalidTask for a mixture.
        """
        self._collect().spawn(tasks, serial=serial)

    def spawn_sibling(self, *tasks: NewTask) -> None:
        """Give this task's own parent more children to wait for."""
        self._collect().siblings.extend(tasks)

    @overload
    async def children(self) -> list[Child]: ...

    @overload
    async def children(self, of: HandlerDefinition[..., R]) -> list[Child[R]]: ...

    async def children(self, of: HandlerDefinition[..., Any] | None = None) -> list[Child]:
        """Return what became of the children, in the order in which they were spawned.

        If a handler is given, only its tasks, with results of the type that it declares; else results are JSON values.
        """
        found = await self._services.session.run(structure.children(self._held.task.id))
        return children_of(found, of)

    @overload
    async def needs(self) -> list[Needed]: ...

    @overload
    async def needs(self, of: HandlerDefinition[..., R]) -> list[Needed[R]]: ...

    async def needs(self, of: HandlerDefinition[..., Any] | None = None) -> list[Needed]:
        """Return what became of everything that this task needs, in the order declared.

        If a handler is given, only its tasks, with results of the type that it declares; else results are JSON values.
        """
        found = await self._services.session.run(structure.needs(self._held.task.id))
        return needs_of(found, of)

    async def failed_siblings(self) -> int:
        """Count the children of the same parent that have failed or were cancelled so far."""
        return await self._services.session.run(structure.failed_siblings(self._held.task.id))

    async def info(self, facts: Mapping[str, object]) -> None:
        """Merge facts into the task's info, visible at once; raise HandlerAborted if the claim is lost."""
        task = self._held.task
        lost = await self._services.session.run(claims.report_info(self._held.worker_id, task.id, task.fence, facts))
        if lost is not None:
            raise HandlerAborted(reason=LostReason(lost))

    async def issue_token(self, *, ttl: float = outside.TOKEN_TTL) -> str:
        """Make a secret with which this task is ended once, from anywhere, within `ttl` seconds.

        Hand it to whoever is to answer, and return a Snooze for as long as you would wait; raises
        InvalidTask.
        """
        return await self._services.session.run(outside.issue_token(self._held.task.id, ttl))

    @asynccontextmanager
    async def prepare(self) -> AsyncIterator[Connection]:
        """Open a transaction of the handler's own for what it must read before it works; it completes
        nothing.

        Raises HandlerAborted if the claim is lost already.
        """
        task = self._held.task
        with step(self._services.tracing, "prepare"):
            async with self.transaction() as tx:
                lost = await run_async(tx, claims.lost(self._held.worker_id, [task.claim]))
                if task.id in lost:
                    raise HandlerAborted(reason=LostReason(lost[task.id]))
                yield tx

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Open a transaction of this handler's own; after `complete` in it, its commit finishes the task.

        It is safe to do it again when its commit was not answered: either nothing of the first time stands,
        or `complete` raises AlreadyCompleted, which undoes the second time and is a good end for the handler.
        """
        async with open_transaction(self._services, {self: self._held}) as tx:
            yield tx

    def written(self, result: object) -> object:
        """Return a result as JSON values of its declared type, if one is declared; raise ContractBroken."""
        owes_result = self._contract is not None and is_last_step(self._contract, self.task, self._next)
        return self._contract.write_result(result) if self._contract and owes_result else result

    def after_commit(self, call: Call) -> None:
        """Make a call once what this handler does is committed: an async function awaited, a plain one in a thread.

        Within `transaction()` that is its commit; what a savepoint's rollback undoes takes its calls along.
        Elsewhere it is the task's outcome, if this attempt completes it. Never after a failure, a snooze, a lost
        claim or a rollback. Calls are made in this order; one that raises is logged. Each is made once at most:
        what must not be lost is a follow-up.
        """
        if surrounding := AfterCommit.of(self):
            surrounding.add(call)
        else:
            self._services.afterwards.add(self._held, call)

    async def complete(self, tx: AsyncJoinable, result: object = None) -> None:
        """Complete the task inside a transaction, with the follow-ups so far: all of it commits or none.

        `tx` is what `transaction()` gives, or a connection or session of your own (asyncpg, SQLAlchemy's asyncio,
        psycopg); where its transaction is rolled back, what the handler returns or raises counts instead. Write nothing
        but outside the database after it, and end the transaction soon: it holds the task's row. Again within the same
        transaction it changes nothing.

        Raises HandlerAborted if the claim is lost, or if the outcome of the task before it in the place of its key is
        not stored within 2 seconds: the task is given back and runs again later. Raises AlreadyCompleted if an earlier
        transaction has completed it. Undo your transaction then; `transaction()` does so even where the error is
        caught. Raises ContractBroken for a result that is not of the promised type, and TypeError for one that was
        never awaited.
        """
        connection = join_async(tx)
        await self._services.in_flight.wait_for_turn(self._held)
        stored, next_tasks = self._checked(result)
        next_tasks = await self._services.large.detach(next_tasks)
        report, collector = self._completed(stored, next_tasks, tx)
        with step(self._services.tracing, "complete"):
            statement = claims.finish_here(self._held.worker_id, [report])
            self._require_accepted(await run_async(connection, statement, collector))

    def complete_sync(self, tx: Joinable, result: object = None) -> None:
        """Complete the task inside a transaction as `complete` does, from a handler that is a plain function.

        `tx` is a connection or session of your own: psycopg, psycopg2, SQLAlchemy, SQLModel or Django.
        """
        connection = join(tx)
        if self._held.after is not None:
            self.wait(self._services.in_flight.wait_for_turn(self._held))
        stored, next_tasks = self._checked(result)
        next_tasks = self._services.large.detach_now(next_tasks)
        report, collector = self._completed(stored, next_tasks, tx)
        with step(self._services.tracing, "complete"):
            self._require_accepted(run(connection, claims.finish_here(self._held.worker_id, [report]), collector))

    def _checked(self, result: object) -> tuple[object, NextTasks | None]:
        return check_contract(self._services.contracts, self.task, result, self._next)

    def _completed(
        self, result: object, next_tasks: NextTasks | None, tx: object
    ) -> tuple[Completed, EventCollector | None]:
        self.check()
        held, task = self._held, self._held.task
        if next_tasks is not None and self._services.tracing is not None:
            self._services.tracing.following(next_tasks)
        report = Completed(
            id=task.id,
            fence=task.fence,
            result_json=None if result is None else self._encoded(result),
            ran=held.ran,
            next_tasks=next_tasks,
        )
        surrounding = AfterCommit.of(self)
        if surrounding is None or surrounding.connection is not tx:
            held.unseen_completion = report
            return report, None
        held.finishing = True
        held.report = report
        if self._services.events.asks_for_ends:
            held.collector = self._services.events.collector([held])
        return report, held.collector

    def _require_accepted(self, verdicts: dict[int, str]) -> None:
        if (verdict := verdicts.get(self.task_id)) is not None:
            self._held.refusal = self._refused(verdict)
            raise self._held.refusal from LeaseLost(task_id=self.task_id, reason=verdict)

    def _refused(self, verdict: str) -> HandlerAborted:
        held, task = self._held, self._held.task
        if verdict == ACCEPTED_BEFORE:
            self.log.warning("Task %d had completed: what its handler did again in a transaction is undone", task.id)
            held.committed = True
            return AlreadyCompleted(task_id=task.id)
        held.aborted = LostReason(verdict)
        return HandlerAborted(reason=held.aborted)

    async def in_process(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a plain function from the top of a module in a process that is killed when this handler must
        stop.

        For what may take for ever within an async handler. Arguments and result are pickled. Raises
        HandlerError for what the function raises and for a process that dies, InvalidDeclaration for a
        function that no process finds.
        """
        self.check()
        return await self._services.processes.call(function, *args, **kwargs)

    def _encoded(self, result: object) -> str:
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
        """Run one of the async calls above from a handler in a thread: `ctx.wait(ctx.info({...}))`."""
        return asyncio.run_coroutine_threadsafe(call, self._services.loop).result()


class BatchContext(TaskContext):
    """The contexts of one batch call, in the order of its items."""

    __slots__ = ("_services", "tasks")

    def __init__(self, contexts: Sequence[Context], services: HandlerServices) -> None:
        self.tasks = tuple(contexts)
        self._services = services

    @property
    def aborted(self) -> LostReason | None:
        """Why the whole call must stop; None while any of its tasks may go on."""
        reasons = [context.aborted for context in self.tasks]
        return reasons[0] if all(reasons) else None

    def check(self) -> None:
        """Raise HandlerAborted if every task of this call must stop."""
        if self.aborted is not None:
            raise HandlerAborted(reason=self.aborted)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Open a transaction; its commit finishes those of `tasks` that were completed in it."""
        held = {context: context._held for context in self.tasks}  # noqa: SLF001 - one class in two sizes
        async with open_transaction(self._services, held) as tx:
            yield tx
