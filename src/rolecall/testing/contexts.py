"""Contexts for calling handlers as plain functions. They record the handler's calls and need no database."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from time import monotonic
from typing import Any, Generic, ParamSpec, TypedDict, TypeVar, Unpack

import psycopg

from rolecall.app import App, HandlerDefinition
from rolecall.app.contracts import Contract
from rolecall.db.after_commit import AfterCommit, Call
from rolecall.model.durations import in_seconds
from rolecall.model.error_text import describe
from rolecall.model.errors import AlreadyCompleted, ConfigError, HandlerAborted, HandlerError
from rolecall.model.states import LostReason
from rolecall.model.tasks import Child, ClaimedTask, Needed, NewTask, NextTasks
from rolecall.sql import claims
from rolecall.sql.encoding import encode_result, to_plain
from rolecall.sql.outside import TOKEN_TTL
from rolecall.testing.asking import borrow, in_a_loop
from rolecall.worker.context import BatchContext, Context
from rolecall.worker.handler_services import Connection
from rolecall.worker.in_flight import HeldTask, RunnerSlot
from rolecall.worker.outcomes import check_contract, unstored_failure
from rolecall.worker.relatives import children_of, needs_of
from rolecall.worker.subprocess.messages import address_of

P = ParamSpec("P")
Q = ParamSpec("Q")
R_co = TypeVar("R_co", covariant=True)
T = TypeVar("T")


class AttemptFacts(TypedDict, total=False):
    """The facts of an attempt that a test can set. By default, it is a first attempt."""

    task_id: int
    attempt: int
    max_attempts: int
    fence: int
    role: str
    priority: int
    payload: Mapping[str, object]
    key: str | None
    chain_id: int
    chain_index: int
    step: int
    parent_id: int | None
    last_error: str | None
    timeout: float | None
    worker_id: int
    scheduled_for: datetime


class FakeContext(Context, Generic[P, R_co]):
    """An attempt of a task that is in no database, for calling a handler as a function.

        ctx = FakeContext(bill, attempt=2)
        assert await bill(ctx, order=7) == "billed 7"
        assert ctx.facts == {"pages": 3}
        assert ctx.follow_ups == [send.task(order=7)]

    The handler's calls are validated as in a worker and recorded: `facts` (of `ctx.info`), `follow_ups`,
    `continuation`, `spawned`, `siblings`, `tokens`, `calls` (of `after_commit`, unless rolled back), `completed` and
    its `result`. With `app`, contracts between handlers are validated as well. `transaction()` yields the given
    `connection`, in a savepoint if it is psycopg's, and raises ConfigError without one. `lose` tells the handler to
    stop. `children`, `needs` and `failed_siblings` return the given values. The other arguments describe the attempt:
    attempt, key, step and so on.
    """

    __slots__ = (
        "_asked_before",
        "_checks_left",
        "_children",
        "_completed_in",
        "_contracts",
        "_failed_siblings",
        "_lost",
        "_needs",
        "app",
        "calls",
        "completed",
        "connection",
        "definition",
        "facts",
        "loop",
        "result",
        "tokens",
    )

    def __init__(  # sizes: each is an argument of the call
        self,
        handler: HandlerDefinition[P, R_co],
        *,
        app: App | None = None,
        connection: Any = None,
        children: Sequence[Child] = (),
        needs: Sequence[Needed] = (),
        failed_siblings: int = 0,
        **facts: Unpack[AttemptFacts],
    ) -> None:
        self._held = HeldTask(_make_claimed_task(handler, facts), NoRunner(), facts.get("worker_id", 1), monotonic())
        self._next = None
        self._children = children
        self._needs = needs
        self._failed_siblings = failed_siblings
        self._contracts = contract_of_one(handler) if app is None else app.contracts()
        self._lost: LostReason | None = None
        self._checks_left = 0
        self._completed_in: object = None
        self._asked_before: NextTasks | None = None  # before the handler's follow-up rule was applied to its result
        self.definition = handler
        self.app = app
        self.connection = connection
        self.loop: asyncio.AbstractEventLoop | None = None  # `wait` submits its calls to it
        self.facts: dict[str, object] = {}
        self.calls: list[Call] = []
        self.tokens: list[str] = []
        self.completed = False
        self.result: object = None

    @property
    def follow_ups(self) -> list[NewTask]:
        """The tasks requested with `follow_up`, and those that the handler's rule derived from its result."""
        return list(self._next.follow_ups) if self._next else []

    @property
    def continuation(self) -> NewTask | None:
        return self._next.continuation if self._next else None

    @property
    def spawned(self) -> list[NewTask]:
        return list(self._next.children) if self._next else []

    @property
    def siblings(self) -> list[NewTask]:
        """The children added to the task's parent."""
        return list(self._next.siblings) if self._next else []

    def lose(self, reason: LostReason | str = LostReason.TAKEN, *, looks: int = 0) -> None:
        """Tell the handler to stop: at once, or after the given number of checks.

        `aborted`, `check`, `info`, `prepare` and `complete` are checks. Raises ValueError for an unknown reason.
        """
        self._lost, self._checks_left = LostReason(reason), looks

    @property
    def aborted(self) -> LostReason | None:
        if self._lost is not None and self._held.abort_reason is None:
            if self._checks_left <= 0:
                self._held.abort_reason = self._lost
            self._checks_left -= 1
        return self._held.abort_reason

    def check(self) -> None:
        if (reason := self.aborted) is not None:
            raise HandlerAborted(reason=reason)

    async def children(self, of: HandlerDefinition[..., Any] | None = None) -> list[Child]:
        return children_of([replace(each, result=to_plain(each.result)) for each in self._children], of)

    async def needs(self, of: HandlerDefinition[..., Any] | None = None) -> list[Needed]:
        return needs_of([replace(each, result=to_plain(each.result)) for each in self._needs], of)

    async def failed_siblings(self) -> int:
        return self._failed_siblings

    async def info(self, facts: Mapping[str, object]) -> None:
        self.check()
        claims.report_info(self.worker_id, self.task_id, self.fence, facts)  # rejects values that cannot be stored
        self.facts |= facts

    async def issue_token(self, *, ttl: float = TOKEN_TTL) -> str:  # noqa: ARG002 - nothing outlives a test
        self.tokens.append(secrets.token_urlsafe())
        return self.tokens[-1]

    @asynccontextmanager
    async def prepare(self) -> AsyncIterator[Connection]:
        self.check()
        async with self.transaction() as tx:
            yield tx

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        async with open_block(self.connection, [self]) as tx:
            yield tx

    def after_commit(self, call: Call) -> None:
        block = AfterCommit.of(self)
        if block is not None:
            block.add(call)
        else:
            self.calls.append(call)

    async def complete(self, tx: object, result: object = None) -> None:
        self._complete(tx, result)

    def complete_sync(self, tx: object, result: object = None) -> None:
        self._complete(tx, result)

    async def in_process(self, function: Callable[Q, T], *args: Q.args, **kwargs: Q.kwargs) -> T:
        self.check()
        address_of(function, what=f"{function.__qualname__}()")
        try:
            return await asyncio.to_thread(function, *args, **kwargs)
        except Exception as error:
            raise HandlerError(describe(error)) from error

    def wait(self, call: Coroutine[Any, Any, T]) -> T:
        if self.loop is None:
            return in_a_loop(lambda: call)
        return asyncio.run_coroutine_threadsafe(call, self.loop).result()

    def require(self, result: object) -> None:
        """Check a result and the requested tasks against the handler's contract. Raises what would fail the attempt."""
        stored, self._next = check_contract(self._contracts, self.task, result, self._next)
        _, problem = encode_result(stored)
        if problem is not None and (
            error := unstored_failure(result, problem, handler=self.handler, contract=self._contract)
        ):
            raise error

    def ended(self, *, committed: bool, calls_before: int) -> None:
        """Keep or discard the recorded calls of a transaction."""
        if not committed:
            del self.calls[calls_before:]
            if self._completed_in is not None:
                self.completed, self.result, self._next = False, None, self._asked_before
        self._completed_in = None

    def _complete(self, tx: object, result: object) -> None:
        self.check()
        if self.completed and self._completed_in is not tx:
            raise AlreadyCompleted(task_id=self.task_id)
        if not self.completed:
            self._asked_before = self._next
            self.require(result)
            self.completed, self.result, self._completed_in = True, result, tx

    @property
    def _contract(self) -> Contract | None:
        return self._contracts.get(self.handler)


class FakeBatchContext(BatchContext):
    """The contexts of a batch call. `transaction()` yields the first one's connection."""

    __slots__ = ("_contexts",)

    def __init__(self, contexts: Sequence[FakeContext[..., Any]]) -> None:
        self.tasks = tuple(contexts)
        self._contexts = contexts

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        async with open_block(self._contexts[0].connection, self._contexts) as tx:
            yield tx


class NoRunner:
    """Stands in for a worker's runner."""

    interruptible = False
    max_tasks = 1

    async def run(self, held: HeldTask, slot: RunnerSlot) -> None:
        """Do nothing: the test calls the handler itself."""


def contract_of_one(handler: HandlerDefinition[..., Any]) -> Mapping[str, Contract]:
    """Return the part of a handler's contract that needs no app: its result and its follow-up rule."""
    contract = Contract(
        handler=handler.name,
        returns=handler.returns,
        continuations=None,
        must_continue=handler.links.must_continue,
        needs=None,
        takes={},
        then=handler.links.then,
        gathers=handler.gather is not None,
    )
    return {handler.name: contract}


@asynccontextmanager
async def open_block(connection: Any, contexts: Sequence[FakeContext[..., Any]]) -> AsyncIterator[Connection]:
    """Yield the test's connection as a handler's transaction. A rollback discards completions and calls as well."""
    if connection is None:
        raise ConfigError(
            "the handler opens a transaction and needs FakeContext(..., connection=...)", variable="connection"
        )
    committed = False
    call_counts = [len(context.calls) for context in contexts]
    try:
        with borrow(connection) if isinstance(connection, psycopg.Connection) else nullcontext(connection) as tx:
            if isinstance(tx, psycopg.AsyncConnection):
                after_commit = AfterCommit(tx, contexts)
                async with tx.transaction() as block:
                    with after_commit.surround():
                        yield tx
                contexts[0].calls += after_commit.close(block)
                committed = block.status is block.Status.COMMITTED
            else:
                yield tx
                committed = True
    finally:
        for context, number in zip(contexts, call_counts, strict=True):
            context.ended(committed=committed, calls_before=number)


def _make_claimed_task(handler: HandlerDefinition[..., Any], facts: AttemptFacts) -> ClaimedTask:
    now = datetime.now(UTC)
    task_id = facts.get("task_id", 1)
    return ClaimedTask(
        id=task_id,
        fence=facts.get("fence", facts.get("attempt", 1)),
        attempt=facts.get("attempt", 1),
        max_attempts=facts.get("max_attempts", handler.settings.max_attempts or 0),
        role=facts.get("role", handler.role),
        handler=handler.name,
        priority=facts.get("priority", 0),
        payload_json=json.dumps(dict(facts.get("payload", {})), default=str),
        key=facts.get("key"),
        chain_id=facts.get("chain_id", task_id),
        chain_index=facts.get("chain_index", 0),
        scheduled_for=facts.get("scheduled_for", now),
        created_at=now,
        lease_seconds=60.0,
        timeout_seconds=facts.get("timeout", in_seconds(handler.settings.timeout)),
        step=facts.get("step", 0),
        parent_id=facts.get("parent_id"),
        last_error=facts.get("last_error"),
    )
