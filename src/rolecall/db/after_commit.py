"""After-commit calls: functions that are called after a transaction commits, and dropped if it is rolled back.

Each is called at most once. If the process ends between the commit and the call, the call is lost.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from inspect import isawaitable, iscoroutinefunction
from typing import Any

import psycopg

Call = Callable[[], object]
AnyConnection = psycopg.Connection[Any] | psycopg.AsyncConnection[Any]
AnyTransaction = psycopg.Transaction | psycopg.AsyncTransaction

FAILED = "An after-commit call failed: %r"
log = logging.getLogger("rolecall.after_commit")


class AfterCommit:
    """The after-commit calls of one transaction, in order.

    `owners` are the clients or contexts that find it with `of`, within its block and what the block calls.
    """

    def __init__(self, connection: AnyConnection, owners: Iterable[object]) -> None:
        self.connection = connection
        self._owners = [id(owner) for owner in owners]
        self._calls: list[Call] = []
        self._open = True

    @classmethod
    def of(cls, owner: object) -> AfterCommit | None:
        """Return the owner's innermost transaction around the caller; None outside of one."""
        return next((one for one in reversed(SURROUNDING.get()) if one.is_open_for(owner)), None)

    def is_open_for(self, owner: object) -> bool:
        return self._open and id(owner) in self._owners

    def add(self, call: Call) -> None:
        """Add a call. It is dropped if the transaction, or the savepoint around it, is rolled back."""
        self._calls.append(call)

    @contextmanager
    def surround(self) -> Iterator[None]:
        """Make this findable within the block, and follow the savepoints of `connection.transaction()` there."""
        before = SURROUNDING.get()
        SURROUNDING.set((*before, self))
        is_async = isinstance(self.connection, psycopg.AsyncConnection)
        nested = (self._wrap_transaction_async if is_async else self._wrap_transaction)(self.connection.transaction)
        # Patched on the connection itself, because the driver reports the end of a savepoint nowhere else.
        own = self.connection.__dict__
        outer = {name: own[name] for name in own.keys() & {"transaction"}}
        own["transaction"] = nested
        try:
            yield
        finally:
            del own["transaction"]
            own.update(outer)
            SURROUNDING.set(before)

    def close(self, transaction: AnyTransaction) -> list[Call]:
        """Close this and return the calls to make; none if the transaction was rolled back."""
        self._forget_since(0, transaction)
        self._open = False
        return self._calls

    def _wrap_transaction(self, begin: Callable[..., Any]) -> Callable[..., Any]:
        @contextmanager
        def transaction(*args: Any, **kwargs: Any) -> Iterator[psycopg.Transaction]:
            so_far, inner = len(self._calls), None
            try:
                with begin(*args, **kwargs) as inner:
                    yield inner
            finally:
                self._forget_since(so_far, inner)

        return transaction

    def _wrap_transaction_async(self, begin: Callable[..., Any]) -> Callable[..., Any]:
        @asynccontextmanager
        async def transaction(*args: Any, **kwargs: Any) -> AsyncIterator[psycopg.AsyncTransaction]:
            so_far, inner = len(self._calls), None
            try:
                async with begin(*args, **kwargs) as inner:
                    yield inner
            finally:
                self._forget_since(so_far, inner)

        return transaction

    def _forget_since(self, number: int, transaction: AnyTransaction | None) -> None:
        if transaction is None or transaction.status is not transaction.Status.COMMITTED:
            del self._calls[number:]


SURROUNDING: ContextVar[tuple[AfterCommit, ...]] = ContextVar("rolecall_after_commit", default=())


def make_calls(calls: Iterable[Call]) -> None:
    """Make the calls in order. A call that raises is logged and does not affect the others."""
    for call in calls:
        try:
            call()
        except Exception:
            log.exception(FAILED, call)


async def make_calls_async(calls: Iterable[Call]) -> None:
    """Make the calls in order, plain functions in a thread. A call that raises is logged and does not affect the
    others.
    """
    for call in calls:
        try:
            answer = call() if iscoroutinefunction(call) else await asyncio.to_thread(call)
            if isawaitable(answer):
                await answer
        except Exception:
            log.exception(FAILED, call)
