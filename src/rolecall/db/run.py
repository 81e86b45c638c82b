"""Executes statements with psycopg, sync and async, alone or several in one transaction.

A transaction of ours is repeated if the server ended it because of a deadlock, or did not know a prepared statement
behind a pooler. In both cases it was rolled back.
"""

from __future__ import annotations

import select
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from time import monotonic
from typing import Any, LiteralString, TypeVar

import psycopg
from psycopg.rows import tuple_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from rolecall.db.foreign import AsyncForeign, Foreign
from rolecall.db.pooler import AsyncConnection, Connection
from rolecall.model.error_table import error_for_sqlstate
from rolecall.model.errors import (
    ConfigError,
    DatabaseError,
    DatabaseUnavailable,
    InvalidTask,
    RolecallError,
    RowsBusy,
)
from rolecall.model.sqlstates import is_condition
from rolecall.sql.events import EventCollector
from rolecall.sql.statement import Row, Statement

AnyConnection = psycopg.Connection[Any] | psycopg.AsyncConnection[Any]
T = TypeVar("T")

OURS = (Connection, AsyncConnection)
DEADLOCK = "40P01"
LOCK_TIMEOUT = "55P03"
ROWS_HELD = (
    "another transaction holds rows that this call needs; nothing was changed: try again, or end that transaction"
)
# It does not exist, exists already, or has other parameters: a pooler led to a connection where others prepared
# theirs.
NOT_AS_PREPARED = frozenset({"26000", "42P05", "08P01"})
REPEATS = 3
FROM_PSYCOPG: tuple[type[Exception], ...] = (psycopg.Error, UnicodeEncodeError)
# Names of the drivers' error classes for a failed connection. Such errors have no SQLSTATE, or one that is not
# listed.
UNAVAILABLE = frozenset({"OperationalError", "InterfaceError", "PostgresConnectionError", "OSError"})
# Seconds after which a pooled connection is checked before it is lent.
CHECK_AFTER = 1.0
CLIENT_BINDING = (
    "belongs to psycopg2, which writes values into the text of statements, where the log of Postgres may show them, but"
    " the task has hidden values (Redacted): use psycopg 3, or enqueue the task without connection="
)
# In the same message as the statement: a separate BEGIN would leave the transaction open while this process is held
# up.
SET_LEVEL: LiteralString = "set transaction isolation level read committed; "


def run(conn: psycopg.Connection[Any] | Foreign, statement: Statement[T], collector: EventCollector | None = None) -> T:
    """Execute a statement. The connection's transaction decides when it commits."""
    return run_all(conn, [statement], collector)[0]


async def run_async(
    conn: psycopg.AsyncConnection[Any] | AsyncForeign, statement: Statement[T], collector: EventCollector | None = None
) -> T:
    """Execute a statement. The connection's transaction decides when it commits."""
    return (await run_all_async(conn, [statement], collector))[0]


def run_all(
    conn: psycopg.Connection[Any] | Foreign,
    statements: Sequence[Statement[T]],
    collector: EventCollector | None = None,
) -> list[T]:
    """Execute statements in the open transaction, or in a transaction of their own.

    Events are not collected on connections of other libraries.
    """
    if isinstance(conn, Foreign):
        if any(statement.is_confidential for statement in statements) and binds_on_client(conn):
            raise ConfigError(CLIENT_BINDING, variable="connection")
        with translating_errors(*conn.errors), _own_block(conn) if len(statements) > 1 else nullcontext():
            return [statement.read(conn.fetch(statement.query, statement.params)) for statement in statements]

    def execute() -> list[T]:
        with conn.transaction() if is_joint else nullcontext():
            return [_run(conn, statement, collector, sets_level=is_single) for statement in statements]

    is_joint = is_free(conn) and _need_transaction(conn, statements, collector)
    is_single = not is_joint and _must_set_level(conn)
    return _with_repeats(conn, execute, collector)


def binds_on_client(conn: Foreign) -> bool:
    """Return whether a connection writes values into the text of statements, where the server may log them."""
    with translating_errors(*conn.errors):
        return conn.binds_on_client


async def run_all_async(
    conn: psycopg.AsyncConnection[Any] | AsyncForeign,
    statements: Sequence[Statement[T]],
    collector: EventCollector | None = None,
) -> list[T]:
    """Execute statements in the open transaction, or in a transaction of their own.

    Events are not collected on connections of other libraries.
    """
    if isinstance(conn, AsyncForeign):
        with translating_errors(*conn.errors):
            async with _own_block_async(conn) if len(statements) > 1 else nullcontext():
                return [statement.read(await conn.fetch(statement.query, statement.params)) for statement in statements]

    async def execute() -> list[T]:
        async with conn.transaction() if is_joint else nullcontext():
            return [await _run_async(conn, statement, collector, sets_level=is_single) for statement in statements]

    is_joint = is_free(conn) and _need_transaction(conn, statements, collector)
    is_single = not is_joint and _must_set_level(conn)
    return await _with_repeats_async(conn, execute, collector)


async def run_and_async(
    conn: psycopg.AsyncConnection[Any],
    statement: Statement[T],
    then: Callable[[Any, T], Statement[None]],
    before: Statement[Any] | None = None,
    collector: EventCollector | None = None,
) -> T:
    """Execute a statement, and in the same transaction the one that `then` makes from the result of `before` and
    its own.
    """

    async def execute() -> T:
        async with conn.transaction() if free else nullcontext():
            found = None if before is None else await _run_async(conn, before)
            answer = await _run_async(conn, statement, collector)
            await _run_async(conn, then(found, answer))
        return answer

    free = is_free(conn)
    return await _with_repeats_async(conn, execute, collector)


@contextmanager
def translating_errors(*drivers: type[Exception]) -> Iterator[None]:
    """Translate errors of psycopg and of `drivers` within the block into ours, caused by the driver's error."""
    try:
        yield
    except FROM_PSYCOPG + drivers as error:
        raise _translate(error) from error


@contextmanager
def _own_block(conn: Foreign) -> Iterator[None]:
    """Run the block in a transaction if each statement would otherwise be committed automatically."""
    if not conn.is_free():
        yield
        return
    conn.fetch("begin")
    try:
        yield
    except BaseException:
        conn.fetch("rollback")
        raise
    conn.fetch("commit")


@asynccontextmanager
async def _own_block_async(conn: AsyncForeign) -> AsyncIterator[None]:
    if not await conn.is_free():
        yield
        return
    await conn.fetch("begin")
    try:
        yield
    except BaseException:
        await conn.fetch("rollback")
        raise
    await conn.fetch("commit")


def _run(
    conn: psycopg.Connection[Any],
    statement: Statement[T],
    collector: EventCollector | None = None,
    *,
    sets_level: bool = False,
) -> T:
    # Not conn.cursor(), because a caller's connection may have another cursor class or row factory.
    messages = _messages(statement, collector, sets_level=sets_level)
    kind = psycopg.ClientCursor if _is_joined(statement, messages) else psycopg.Cursor
    answers = []
    with translating_errors(), kind(conn, row_factory=tuple_row) as cursor:
        for query, params in messages:
            cursor.execute(query, params, prepare=_may_prepare(conn))
            answers.append(cursor.fetchall() if _has_rows(cursor) else [])
            while cursor.nextset():
                answers.append(cursor.fetchall() if _has_rows(cursor) else [])
    return _read_result(statement, collector, answers)


async def _run_async(
    conn: psycopg.AsyncConnection[Any],
    statement: Statement[T],
    collector: EventCollector | None = None,
    *,
    sets_level: bool = False,
) -> T:
    messages = _messages(statement, collector, sets_level=sets_level)
    kind = psycopg.AsyncClientCursor if _is_joined(statement, messages) else psycopg.AsyncCursor
    answers = []
    with translating_errors():
        async with kind(conn, row_factory=tuple_row) as cursor:
            for query, params in messages:
                await cursor.execute(query, params, prepare=_may_prepare(conn))
                answers.append(await cursor.fetchall() if _has_rows(cursor) else [])
                while cursor.nextset():
                    answers.append(await cursor.fetchall() if _has_rows(cursor) else [])
    return _read_result(statement, collector, answers)


def _has_rows(cursor: psycopg.Cursor[Row] | psycopg.AsyncCursor[Row]) -> bool:
    # Not by its description, which reads the names and types of all columns.
    return cursor.pgresult is not None and cursor.pgresult.nfields > 0


Messages = list[tuple[str, Sequence[object]]]


def _messages(statement: Statement[Any], collector: EventCollector | None, *, sets_level: bool) -> Messages:
    level = SET_LEVEL if sets_level else ""
    if collector is None:
        return [(level + statement.query, statement.params)]
    before, after = collector.around()
    if statement.is_confidential:
        return [(before, ()), (statement.query, statement.params), (after, ())]
    return [(f"{level}{before}; {statement.query}; {after}", statement.params)]


def _is_joined(statement: Statement[Any], messages: Messages) -> bool:
    """Return whether several queries form one message, which the driver can send only with the values written into
    it.
    """
    return len(messages) == 1 and messages[0][0] != statement.query


def _need_transaction(
    conn: AnyConnection, statements: Sequence[Statement[Any]], collector: EventCollector | None
) -> bool:
    if len(statements) > 1:
        return True
    is_confidential = any(statement.is_confidential for statement in statements)
    return is_confidential and (collector is not None or _must_set_level(conn))


def _read_result(statement: Statement[T], collector: EventCollector | None, answers: list[list[Row]]) -> T:
    if collector is not None:
        [[collected]] = answers.pop()
        collector.take(collected)
    return statement.read(answers[-1])


def _may_prepare(conn: AnyConnection) -> bool | None:
    # None means the connection's own threshold.
    return None if isinstance(conn, OURS) else False


def _must_set_level(conn: AnyConnection) -> bool:
    return isinstance(conn, OURS) and conn.isolation_level is not None and is_free(conn)


def _with_repeats(conn: AnyConnection, execute: Callable[[], T], collector: EventCollector | None) -> T:
    event_count = 0 if collector is None else len(collector.events)
    for _ in range(REPEATS if is_free(conn) else 0):
        try:
            return execute()
        except DatabaseError as error:
            if not _may_be_repeated(conn, error):
                raise
            if collector is not None:
                collector.forget(event_count)
    return execute()


async def _with_repeats_async(
    conn: AnyConnection, execute: Callable[[], Awaitable[T]], collector: EventCollector | None
) -> T:
    event_count = 0 if collector is None else len(collector.events)
    for _ in range(REPEATS if is_free(conn) else 0):
        try:
            return await execute()
        except DatabaseError as error:
            if not _may_be_repeated(conn, error):
                raise
            if collector is not None:
                collector.forget(event_count)
    return await execute()


def _may_be_repeated(conn: AnyConnection, error: DatabaseError) -> bool:
    if error.sqlstate in NOT_AS_PREPARED and isinstance(conn, OURS) and conn.prepare_threshold is not None:
        conn.forget_prepared()
        return not conn.closed
    return error.sqlstate == DEADLOCK


def is_free(conn: AnyConnection) -> bool:
    """Return whether the next statement on this connection is committed automatically."""
    # Without autocommit, the driver begins and the owner commits; a transaction of ours would commit in the owner's
    # place.
    return conn.autocommit and conn.info.transaction_status is psycopg.pq.TransactionStatus.IDLE


def require_life(connection: Connection) -> None:
    """Raise psycopg's OperationalError for a dead connection, which the pool then replaces.

    A connection that was lent a moment ago is checked only if data has arrived on it since: a server that ends a
    connection sends a message and closes it.
    """
    if _may_be_dead(connection):
        ConnectionPool.check_connection(connection)


async def require_life_async(connection: AsyncConnection) -> None:
    """Raise psycopg's OperationalError for a dead connection, as `require_life` does."""
    if _may_be_dead(connection):
        await AsyncConnectionPool.check_connection(connection)


def _may_be_dead(connection: Connection | AsyncConnection) -> bool:
    now = monotonic()
    idle_seconds, connection.lent_at = now - connection.lent_at, now
    if idle_seconds > CHECK_AFTER:
        return True
    poll = select.poll()
    poll.register(connection.pgconn.socket, select.POLLIN)
    return bool(poll.poll(0))


def _translate(error: Exception) -> RolecallError:
    # By SQLSTATE and class, never by the message, which depends on the server's language.
    driver_error = _driver_error(error)
    if isinstance(driver_error, UnicodeEncodeError):
        return InvalidTask("a text contains half a surrogate pair")
    sqlstate, problem = _sqlstate(driver_error), _problem(driver_error)
    specific = error_for_sqlstate(sqlstate, problem, _error_text(driver_error, "message_detail", "detail"))
    if specific is not None:
        return specific
    if sqlstate == LOCK_TIMEOUT:
        return RowsBusy(f"{problem}: {ROWS_HELD}", sqlstate=sqlstate)
    if is_condition(sqlstate) or not UNAVAILABLE.isdisjoint(kind.__name__ for kind in type(driver_error).__mro__):
        return DatabaseUnavailable(problem, sqlstate=sqlstate)
    # An error without SQLSTATE arose in this process, for example a NUL in a text parameter.
    if isinstance(driver_error, psycopg.DataError | ValueError) and sqlstate is None:
        return InvalidTask(problem)
    return DatabaseError(problem, sqlstate=sqlstate)


def _driver_error(error: BaseException) -> BaseException:
    """Return the driver's error behind a library's error: the one with a SQLSTATE, or a text that the driver
    rejected.
    """
    causes = [error]
    while (cause := causes[-1].__cause__) is not None:
        causes.append(cause)
    for each in reversed(causes):
        if isinstance(each, UnicodeEncodeError) or _sqlstate(each):
            return each
    return getattr(error, "orig", None) or error


def _sqlstate(error: BaseException) -> str | None:
    return getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)


def _problem(error: BaseException) -> str:
    return _error_text(error, "message_primary", "message") or str(error) or type(error).__name__


def _error_text(error: BaseException, in_diagnostics: str, name: str) -> str | None:
    diagnostics = getattr(error, "diag", None)
    found = getattr(error, name, None) if diagnostics is None else getattr(diagnostics, in_diagnostics)
    return found if isinstance(found, str) else None
