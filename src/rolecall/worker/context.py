"""What a handler is given besides its payload: who it is, whether it must stop, and what it may still
write.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

from rolecall.db.run import run_async
from rolecall.model.errors import HandlerAborted, LeaseLost
from rolecall.model.outcomes import Completed
from rolecall.model.states import LostReason
from rolecall.model.tasks import ClaimedTask, NewTask
from rolecall.sql import tasks
from rolecall.sql.results import encode_result
from rolecall.worker import failpoints
from rolecall.worker.held import Held
from rolecall.worker.session import Session

Connection = AsyncConnection[tuple[Any, ...]]
T = TypeVar("T")

ACCEPTED_BEFORE = "already"
log = logging.getLogger("rolecall.task")


@dataclass(frozen=True, slots=True)
class Services:
    """What every context of a worker shares: a session for facts, a pool for handlers' transactions, the
    loop.
    """

    session: Session
    pool: AsyncConnectionPool[Connection]
    loop: asyncio.AbstractEventLoop


class Context:
    """One attempt at one task, as its handler sees it.

    async def bill(ctx: Context, customer: int) -> dict[str, int]:
        pages = await render(customer, idempotency_key=ctx.idempotency_key)
        await ctx.info({"pages": len(pages)})
        async with ctx.transaction() as tx:
            await save(tx, pages)
            ctx.follow_up(send.task(customer=customer))
            await ctx.complete(tx, {"pages": len(pages)})
    """

    __slots__ = ("_held", "_services", "follow_ups")

    def __init__(self, held: Held, services: Services) -> None:
        self._held = held
        self._services = services
        self.follow_ups: list[NewTask] = []

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
    def chain_id(self) -> int:
        """The id of the first task of the chain that this one belongs to."""
        return self._held.task.chain_id

    @property
    def idempotency_key(self) -> str:
        """Show this to systems outside, so that they recognise a request that this attempt repeats."""
        return f"{self._held.task.id}:{self._held.task.attempt}"

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger whose records carry the task's id, handler and attempt."""
        task = self._held.task
        return logging.LoggerAdapter(log, {"task_id": task.id, "handler": task.handler, "attempt": task.attempt})

    @property
    def aborted(self) -> LostReason | None:
        """Why this handler must stop; None while it may go on."""
        return self._held.aborted

    def check(self) -> None:
        """Raise HandlerAborted if this handler must stop; handlers in threads call it between two steps."""
        failpoints.hit(failpoints.MID_HANDLER)
        if self._held.aborted is not None:
            raise HandlerAborted(reason=self._held.aborted)

    def follow_up(self, task: NewTask) -> None:
        """Enqueue a task of the same chain in the transaction that finishes this one."""
        self.follow_ups.append(task)

    async def info(self, facts: Mapping[str, object]) -> None:
        """Merge facts into the task's info, visible at once; raise HandlerAborted if the claim is lost."""
        task = self._held.task
        lost = await self._services.session.run(tasks.report_info(self._held.worker_id, task.id, task.fence, facts))
        if lost is not None:
            raise HandlerAborted(reason=LostReason(lost))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Open a transaction of this handler's own; after `complete` in it, its commit finishes the task."""
        async with open_transaction(self._services, (self._held,)) as tx:
            yield tx

    async def complete(self, tx: Connection, result: object = None) -> None:
        """Complete the task inside a transaction, with the follow-ups so far: all of it commits or none.

        Write nothing but outside the database after it, and end the transaction soon: it holds the task's
        row. Raises HandlerAborted if the claim is lost, so that the transaction rolls back.
        """
        self.check()
        held, task = self._held, self._held.task
        report = Completed(
            id=task.id,
            fence=task.fence,
            result_json=None if result is None else encode_result(result),
            follow_ups=tuple(self.follow_ups),
        )
        held.finishing = True
        verdicts = await run_async(tx, tasks.finish(held.worker_id, [report]))
        verdict = verdicts.get(task.id, ACCEPTED_BEFORE)
        if verdict != ACCEPTED_BEFORE:
            held.aborted = LostReason(verdict)
            raise HandlerAborted(reason=held.aborted) from LeaseLost(task_id=task.id, reason=verdict)

    def wait(self, call: Coroutine[Any, Any, T]) -> T:
        """Run one of the async calls above from a handler in a thread: `ctx.wait(ctx.info({...}))`."""
        return asyncio.run_coroutine_threadsafe(call, self._services.loop).result()


class BatchContext:
    """The contexts of one batch call, in the order of its items."""

    __slots__ = ("_services", "tasks")

    def __init__(self, contexts: Sequence[Context], services: Services) -> None:
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
        held = tuple(context._held for context in self.tasks)  # noqa: SLF001 - one class in two sizes
        async with open_transaction(self._services, held) as tx:
            yield tx


@asynccontextmanager
async def open_transaction(services: Services, several: Sequence[Held]) -> AsyncIterator[Connection]:
    """Open a transaction on the handlers' pool and note which tasks its commit has settled."""
    await services.pool.open()
    try:
        async with services.pool.connection() as connection, connection.transaction():
            yield connection
    except BaseException:
        for held in several:
            held.finishing = False
        raise
    for held in several:
        held.settled = held.settled or held.finishing
