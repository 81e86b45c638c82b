"""The only two places that execute a statement, one sync and one async, and how several go together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

import psycopg
from psycopg.rows import tuple_row

from rolecall.model.errors import (
    DatabaseError,
    DatabaseUnavailable,
    InvalidTask,
    RolecallError,
    error_for_sqlstate,
)
from rolecall.sql.statement import Statement

__all__ = ["run", "run_all", "run_all_async", "run_async", "translated"]

T = TypeVar("T")


def run(conn: psycopg.Connection[Any], statement: Statement[T]) -> T:
    """Execute a statement; what it commits is for the connection's transaction to decide."""
    # Not conn.cursor(): the caller's own connection may have another cursor class or row factory.
    with translated(), psycopg.Cursor(conn, row_factory=tuple_row) as cursor:
        rows = cursor.execute(statement.query, statement.params).fetchall()
    return statement.read(rows)


async def run_async(conn: psycopg.AsyncConnection[Any], statement: Statement[T]) -> T:
    """Execute a statement; what it commits is for the connection's transaction to decide."""
    with translated():
        async with psycopg.AsyncCursor(conn, row_factory=tuple_row) as cursor:
            await cursor.execute(statement.query, statement.params)
            rows = await cursor.fetchall()
    return statement.read(rows)


def run_all(conn: psycopg.Connection[Any], statements: Sequence[Statement[T]]) -> list[T]:
    """Execute statements together: in the transaction that stands, else in one of their own."""
    with conn.transaction() if _needs_transaction(conn, statements) else nullcontext():
        return [run(conn, statement) for statement in statements]


async def run_all_async(conn: psycopg.AsyncConnection[Any], statements: Sequence[Statement[T]]) -> list[T]:
    """Execute statements together: in the transaction that stands, else in one of their own."""
    async with conn.transaction() if _needs_transaction(conn, statements) else nullcontext():
        return [await run_async(conn, statement) for statement in statements]


@contextmanager
def translated() -> Iterator[None]:
    """Let no driver's error out of the block: raise ours, with the driver's as its cause."""
    try:
        yield
    except (psycopg.Error, UnicodeEncodeError) as error:
        raise _translate(error) from error


def _needs_transaction(
    conn: psycopg.Connection[Any] | psycopg.AsyncConnection[Any], statements: Sequence[Statement[Any]]
) -> bool:
    # Without autocommit the driver begins and the owner commits: a block of ours would commit for him.
    idle = conn.info.transaction_status is psycopg.pq.TransactionStatus.IDLE
    return conn.autocommit and idle and len(statements) > 1


def _translate(error: psycopg.Error | UnicodeEncodeError) -> RolecallError:
    # By SQLSTATE and class, never by the message, which changes with the server's language.
    problem = _problem(error)
    if isinstance(error, UnicodeEncodeError):
        return InvalidTask(problem)
    known = error_for_sqlstate(error.sqlstate, problem)
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
