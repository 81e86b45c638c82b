"""The only two places that execute a statement, one sync and one async, and how several go together.

Where the server ends a deadlock with a transaction that is wholly ours, it is repeated: nothing of it has happened.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

import psycopg
from psycopg.rows import tuple_row

from rolecall.model.error_table import error_for_sqlstate
from rolecall.model.errors import (
    DatabaseError,
    DatabaseUnavailable,
    InvalidTask,
    RolecallError,
)
from rolecall.sql.statement import Statement

__all__ = ["run", "run_all", "run_all_async", "run_and_async", "run_async", "translated"]

Connection = psycopg.Connection[Any] | psycopg.AsyncConnection[Any]
T = TypeVar("T")

DEADLOCK = "40P01"
REPEATS = 3


def run(conn: psycopg.Connection[Any], statement: Statement[T]) -> T:
    """Execute a statement; what it commits is for the connection's transaction to decide."""
    return _through_deadlocks(conn, lambda: _run(conn, statement))


async def run_async(conn: psycopg.AsyncConnection[Any], statement: Statement[T]) -> T:
    """Execute a statement; what it commits is for the connection's transaction to decide."""
    return await _through_deadlocks_async(conn, lambda: _run_async(conn, statement))


def run_all(conn: psycopg.Connection[Any], statements: Sequence[Statement[T]]) -> list[T]:
    """Execute statements together: in the transaction that stands, else in one of their own."""

    def ask() -> list[T]:
        with conn.transaction() if together else nullcontext():
            return [_run(conn, statement) for statement in statements]

    together = _is_free(conn) and len(statements) > 1
    return _through_deadlocks(conn, ask)


async def run_all_async(conn: psycopg.AsyncConnection[Any], statements: Sequence[Statement[T]]) -> list[T]:
    """Execute statements together: in the transaction that stands, else in one of their own."""

    async def ask() -> list[T]:
        async with conn.transaction() if together else nullcontext():
            return [await _run_async(conn, statement) for statement in statements]

    together = _is_free(conn) and len(statements) > 1
    return await _through_deadlocks_async(conn, ask)


async def run_and_async(
    conn: psycopg.AsyncConnection[Any], statement: Statement[T], then: Callable[[T], Statement[None]]
) -> T:
    """Execute a statement and, together with it, the one that is made of its answer."""

    async def ask() -> T:
        async with conn.transaction() if free else nullcontext():
            answer = await _run_async(conn, statement)
            await _run_async(conn, then(answer))
        return answer

    free = _is_free(conn)
    return await _through_deadlocks_async(conn, ask)


@contextmanager
def translated() -> Iterator[None]:
    """Let no driver's error out of the block: raise ours, with the driver's as its cause."""
    try:
        yield
    except (psycopg.Error, UnicodeEncodeError) as error:
        raise _translate(error) from error


def _run(conn: psycopg.Connection[Any], statement: Statement[T]) -> T:
    # Not conn.cursor(): the caller's own connection may have another cursor class or row factory.
    with translated(), psycopg.Cursor(conn, row_factory=tuple_row) as cursor:
        rows = cursor.execute(statement.query, statement.params).fetchall()
    return statement.read(rows)


async def _run_async(conn: psycopg.AsyncConnection[Any], statement: Statement[T]) -> T:
    with translated():
        async with psycopg.AsyncCursor(conn, row_factory=tuple_row) as cursor:
            await cursor.execute(statement.query, statement.params)
            rows = await cursor.fetchall()
    return statement.read(rows)


def _through_deadlocks(conn: Connection, ask: Callable[[], T]) -> T:
    for _ in range(REPEATS if _is_free(conn) else 0):
        try:
            return ask()
        except DatabaseUnavailable as error:
            if error.sqlstate != DEADLOCK:
                raise
    return ask()


async def _through_deadlocks_async(conn: Connection, ask: Callable[[], Awaitable[T]]) -> T:
    for _ in range(REPEATS if _is_free(conn) else 0):
        try:
            return await ask()
        except DatabaseUnavailable as error:
            if error.sqlstate != DEADLOCK:
                raise
    return await ask()


def _is_free(conn: Connection) -> bool:
    # Without autocommit the driver begins and the owner commits: a block of ours would commit for him.
    return conn.autocommit and conn.info.transaction_status is psycopg.pq.TransactionStatus.IDLE


def _translate(error: psycopg.Error | UnicodeEncodeError) -> RolecallError:
    # By SQLSTATE and class, never by the message, which changes with the server's language.
    problem = _problem(error)
    if isinstance(error, UnicodeEncodeError):
        return InvalidTask(problem)
    known = error_for_sqlstate(error.sqlstate, problem, error.diag.message_detail)
    if known is not None:
        return known
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return DatabaseUnavailable(problem, sqlstate=error.sqlstate)
    # A DataError without a SQLSTATE never left this process: a NUL in a text parameter, for one.
    if isinstance(error, psycopg.DataError) and error.sqlstate is None:
        return InvalidTask(problem)
    return DatabaseError(problem, sqlstate=error.sqlstate)


def _problem(error: psycopg.Error | UnicodeEncodeError) -> str:
    if isinstance(error, UnicodeEncodeError):
        return "a text contains half a surrogate pair"
    return error.diag.message_primary or str(error) or type(error).__name__
