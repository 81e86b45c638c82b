"""Where assertions look: a database, or the connection whose transaction a test is in."""

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

T = TypeVar("T")


def is_async(database: object) -> bool:
    """Return whether the connection is async."""
    return iscoroutinefunction(getattr(database, "commit", None)) or hasattr(database, "is_in_transaction")


def run_query(database: str | Joinable, statement: Statement[T]) -> T:
    """Run a statement in the connection's transaction, or, for a connection string, in a transaction of its own."""
    if isinstance(database, str) and _is_dsn(database):
        with connect(dsn_of(database), "testing") as connection:
            return run(connection, statement)
    return run(join(database), statement)


async def run_query_async(connection: AsyncJoinable, statement: Statement[T]) -> T:
    """Run a statement in the connection's transaction."""
    return await run_async(join_async(connection), statement)


def _is_dsn(text: str) -> bool:
    # Any other string is a Django database alias.
    return "=" in text or "://" in text


class BorrowedConnection(psycopg.AsyncConnection[tuple[Any, ...]]):
    """An async connection on a sync connection's session. Does not close it and prepares no statements.

    Statements prepared by both would have the same names.
    """

    def __del__(self, *_warn: Any) -> None:
        """Suppress psycopg's warning: the session stays open."""


@contextmanager
def borrow(connection: psycopg.Connection[Any]) -> Iterator[BorrowedConnection]:
    """Lend a sync connection's session to the running event loop until the block ends."""
    session = connection.pgconn
    handlers = session.notice_handler, session.notify_handler
    borrowed = BorrowedConnection(session)
    borrowed.prepare_threshold = None
    try:
        yield borrowed
    finally:
        session.notice_handler, session.notify_handler = handlers


async def on_borrowed(connection: psycopg.Connection[Any], call: Callable[[BorrowedConnection], Awaitable[T]]) -> T:
    """Run a call with an async connection on a sync connection's session."""
    with borrow(connection) as borrowed:
        return await call(borrowed)


def in_a_loop(call: Callable[[], Awaitable[T]]) -> T:
    """Run an async call from sync code, in an event loop of its own."""

    async def main() -> T:
        return await call()

    # In a thread, because the caller may be inside a running loop.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, main()).result()
