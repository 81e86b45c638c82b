"""What the helpers are given to look at: a database, or the connection whose transaction a test is in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from inspect import iscoroutinefunction
from typing import Any, TypeVar

import psycopg

from rolecall.db.connect import connect
from rolecall.db.joined import join, join_async
from rolecall.db.run import run, run_async
from rolecall.model.transactions import AsyncJoinable, Joinable
from rolecall.sql.statement import Statement
from rolecall.testing.databases import dsn_of

__all__ = ["Loan", "ask", "ask_async", "in_a_loop", "is_async", "lent", "on_loan"]

T = TypeVar("T")


def is_async(database: object) -> bool:
    """Whether it is a connection that is asked by awaiting it."""
    return iscoroutinefunction(getattr(database, "commit", None)) or hasattr(database, "is_in_transaction")


def ask(database: str | Joinable, statement: Statement[T]) -> T:
    """Run a statement in the connection's transaction, or in one of its own where a connection string is given."""
    if isinstance(database, str) and _is_dsn(database):
        with connect(dsn_of(database), "testing") as connection:
            return run(connection, statement)
    return run(join(database), statement)


async def ask_async(connection: AsyncJoinable, statement: Statement[T]) -> T:
    """Run a statement in the connection's transaction."""
    return await run_async(join_async(connection), statement)


def _is_dsn(text: str) -> bool:
    # Any other text is the alias of a connection of Django's.
    return "=" in text or "://" in text


class Loan(psycopg.AsyncConnection[tuple[Any, ...]]):
    """A sync connection's session in the hands of a loop; nothing is closed with it, and nothing prepared.

    Two would give their prepared statements the same names.
    """

    def __del__(self, *_warn: Any) -> None:
        """Say nothing: the session goes on."""


@contextmanager
def lent(connection: psycopg.Connection[Any]) -> Iterator[Loan]:
    """Lend a sync connection's session to the loop that runs, for the block."""
    session = connection.pgconn
    heard_by = session.notice_handler, session.notify_handler
    loan = Loan(session)
    loan.prepare_threshold = None
    try:
        yield loan
    finally:
        session.notice_handler, session.notify_handler = heard_by


async def on_loan(connection: psycopg.Connection[Any], call: Callable[[Loan], Awaitable[T]]) -> T:
    """Have a sync connection's session used by the call."""
    with lent(connection) as loan:
        return await call(loan)


def in_a_loop(call: Callable[[], Awaitable[T]]) -> T:
    """Await a call from plain code, in a loop of its own."""

    async def main() -> T:
        return await call()

    # In a thread, as the test may be within a loop of its own.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, main()).result()
