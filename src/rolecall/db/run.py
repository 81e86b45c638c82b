"""The only two places that execute a statement, one sync and one async, and how several go together.

A transaction that is wholly ours is repeated where the server ended a deadlock with it, or did not know a prepared
statement behind a pooler: nothing of it has happened.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, LiteralString, TypeVar

import psycopg
from psycopg.rows import tuple_row

from rolecall.db.pooler import AsyncConnection, Connection
from rolecall.model.error_table import error_for_sqlstate
from rolecall.model.errors import (
    DatabaseError,
    DatabaseUnavailable,
    InvalidTask,
    RolecallError,
)
from rolecall.sql.statement import Statement

__all__ = ["run", "run_all", "run_all_async", "run_and_async", "run_async", "translated"]

AnyConnection = psycopg.Connection[Any] | psycopg.AsyncConnection[Any]
T = TypeVar("T")

OURS = (Connection, AsyncConnection)
DEADLOCK = "40P01"
# It is not there, it is there already, it takes other parameters: a pooler led to where others have prepared theirs.
NOT_AS_PREPARED = frozenset({"26000", "42P05", "08P01"})
REPEATS = 3
# In one message, which is one transaction: begun apart, it would stay open for as long as this process is held up.
LEVEL: LiteralString = "set transaction isolation level read committed; "


def run(conn: psycopg.Connection[Any], statement: Statement[T]) -> T:
    """Execute a statement; what it commits is for the connection's transaction to decide."""
    return run_all(conn, [statement])[0]


async def run_async(conn: psycopg.AsyncConnection[Any], statement: Statement[T]) -> T:
    """Execute a statement; what it commits is for the connection's transaction to decide."""
    return (await run_all_async(conn, [statement]))[0]


def run_all(conn: psycopg.Connection[Any], statements: Sequence[Statement[T]]) -> list[T]:
    """Execute statements together: in the transaction that stands, else in one of their own."""

    def ask() -> list[T]:
        with conn.transaction() if together else nullcontext():
            return [_run(conn, statement, says_its_level=alone) for statement in statements]

    together = _is_free(conn) and len(statements) > 1
    alone = not together and _must_say_its_level(conn)
    return _through_setbacks(conn, ask)


async def run_all_async(conn: psycopg.AsyncConnection[Any], statements: Sequence[Statement[T]]) -> list[T]:
    """Execute statements together: in the transaction that stands, else in one of their own."""

    async def ask() -> list[T]:
        async with conn.transaction() if together else nullcontext():
            return [await _run_async(conn, statement, says_its_level=alone) for statement in statements]

    together = _is_free(conn) and len(statements) > 1
    alone = not together and _must_say_its_level(conn)
    return await _through_setbacks_async(conn, ask)


async def run_and_async(
    conn: psycopg.AsyncConnection[Any],
    statement: Statement[T],
    then: Callable[[Any, T], Statement[None]],
    before: Statement[Any] | None = None,
) -> T:
    """Execute a statement and, together with it, the one that is made of what was found before it and of its answer."""

    async def ask() -> T:
        async with conn.transaction() if free else nullcontext():
            found = None if before is None else await _run_async(conn, before)
            answer = await _run_async(conn, statement)
            await _run_async(conn, then(found, answer))
        return answer

    free = _is_free(conn)
    return await _through_setbacks_async(conn, ask)


@contextmanager
def translated() -> Iterator[None]:
    """Let no driver's error out of the block: raise ours, with the driver's as its cause."""
    try:
        yield
    except (psycopg.Error, UnicodeEncodeError) as error:
        raise _translate(error) from error


def _run(conn: psycopg.Connection[Any], statement: Statement[T], *, says_its_level: bool = False) -> T:
    # Not conn.cursor(): the caller's own connection may have another cursor class or row factory.
    kind = psycopg.ClientCursor if says_its_level else psycopg.Cursor
    query = LEVEL + statement.query if says_its_level else statement.query
    with translated(), kind(conn, row_factory=tuple_row) as cursor:
        cursor.execute(query, statement.params, prepare=_may_prepare(conn))
        while cursor.nextset():
            continue
        rows = cursor.fetchall()
    return statement.read(rows)


async def _run_async(conn: psycopg.AsyncConnection[Any], statement: Statement[T], *, says_its_level: bool = False) -> T:
    kind = psycopg.AsyncClientCursor if says_its_level else psycopg.AsyncCursor
    query = LEVEL + statement.query if says_its_level else statement.query
    with translated():
        async with kind(conn, row_factory=tuple_row) as cursor:
            await cursor.execute(query, statement.params, prepare=_may_prepare(conn))
            while cursor.nextset():
                continue
            rows = await cursor.fetchall()
    return statement.read(rows)


def _may_prepare(conn: AnyConnection) -> bool | None:
    # None leaves it to the connection, which knows.
    return None if isinstance(conn, OURS) else False


def _must_say_its_level(conn: AnyConnection) -> bool:
    return isinstance(conn, OURS) and conn.isolation_level is not None and _is_free(conn)


def _through_setbacks(conn: AnyConnection, ask: Callable[[], T]) -> T:
    for _ in range(REPEATS if _is_free(conn) else 0):
        try:
            return ask()
        except DatabaseError as error:
            if not _may_be_repeated(conn, error):
                raise
    return ask()


async def _through_setbacks_async(conn: AnyConnection, ask: Callable[[], Awaitable[T]]) -> T:
    for _ in range(REPEATS if _is_free(conn) else 0):
        try:
            return await ask()
        except DatabaseError as error:
            if not _may_be_repeated(conn, error):
                raise
    return await ask()


def _may_be_repeated(conn: AnyConnection, error: DatabaseError) -> bool:
    """Whether nothing has happened, and will go well next time."""
    if error.sqlstate in NOT_AS_PREPARED and isinstance(conn, OURS) and conn.prepare_threshold is not None:
        conn.forget_prepared()
        return not conn.closed
    return error.sqlstate == DEADLOCK


def _is_free(conn: AnyConnection) -> bool:
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
