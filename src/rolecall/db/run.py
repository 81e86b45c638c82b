"""Executes statements with psycopg, sync and async, alone or several in one transaction.

A transaction of ours is repeated if the server ended it because of a deadlock, or did not know a prepared statement
behind a pooler. In both cases it was rolled back.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from operator import attrgetter
from typing import Any, LiteralString, NamedTuple, TypeVar

import psycopg
from psycopg.rows import tuple_row

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
from rolecall.sql.statement import Statement

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
# The driver raises NotImplementedError for dates that it cannot read.
FROM_PSYCOPG: tuple[type[Exception], ...] = (psycopg.Error, UnicodeEncodeError, NotImplementedError)
# Names of the drivers' error classes for a failed connection. Such errors have no SQLSTATE, or one that is not
# listed.
UNAVAILABLE = frozenset({"OperationalError", "InterfaceError", "PostgresConnectionError", "OSError"})
CLIENT_BINDING = (
    "belongs to psycopg2, which writes values into the text of statements, where the log of Postgres may show them, but"
    " the task has hidden values (Redacted): use psycopg 3, or enqueue the task without connection="
)
CHECK_OF: Callable[[Statement[Any]], Statement[None] | None] = attrgetter("check")
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
        return _run_foreign(conn, statements)
    plan = _plan(conn, statements, collector)
    while True:
        try:
            with conn.transaction() if plan.is_joint else nullcontext():
                for check in filter(None, map(CHECK_OF, statements)):
                    _send(conn, check)
                return [_send(conn, each, collector, plan.level) for each in statements]
        except FROM_PSYCOPG as error:
            plan = _plan_repeat(plan, conn, error, collector)


async def run_all_async(
    conn: psycopg.AsyncConnection[Any] | AsyncForeign,
    statements: Sequence[Statement[T]],
    collector: EventCollector | None = None,
) -> list[T]:
    """Execute statements in the open transaction, or in a transaction of their own.

    Events are not collected on connections of other libraries.
    """
    if isinstance(conn, AsyncForeign):
        return await _run_foreign_async(conn, statements)
    plan = _plan(conn, statements, collector)
    while True:
        try:
            async with conn.transaction() if plan.is_joint else nullcontext():
                for check in filter(None, map(CHECK_OF, statements)):
                    await _send_async(conn, check)
                return [await _send_async(conn, each, collector, plan.level) for each in statements]
        except FROM_PSYCOPG as error:
            plan = _plan_repeat(plan, conn, error, collector)


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
    is_joint = is_free(conn)
    plan = _Plan(REPEATS if is_joint else 0, 0 if collector is None else len(collector.events), is_joint=is_joint)
    while True:
        try:
            async with conn.transaction() if is_joint else nullcontext():
                for check in filter(None, [statement.check]):
                    await _send_async(conn, check)
                found = None if before is None else await _send_async(conn, before)
                answer = await _send_async(conn, statement, collector)
                await _send_async(conn, then(found, answer))
                return answer
        except FROM_PSYCOPG as error:
            plan = _plan_repeat(plan, conn, error, collector)


def is_free(conn: AnyConnection) -> bool:
    """Return whether the next statement on this connection is committed automatically."""
    # Without autocommit, the driver begins and the owner commits; a transaction of ours would commit in the owner's
    # place.
    return conn.autocommit and conn.info.transaction_status is psycopg.pq.TransactionStatus.IDLE


def _run_foreign(conn: Foreign, statements: Sequence[Statement[T]]) -> list[T]:
    if any(statement.is_confidential for statement in statements) and binds_on_client(conn):
        raise ConfigError(CLIENT_BINDING, variable="connection")
    with translating_errors(*conn.errors), _own_block(conn) if len(statements) > 1 else nullcontext():
        for check in filter(None, map(CHECK_OF, statements)):
            check.read(conn.fetch(check.query, check.params))
        return [statement.read(conn.fetch(statement.query, statement.params)) for statement in statements]


async def _run_foreign_async(conn: AsyncForeign, statements: Sequence[Statement[T]]) -> list[T]:
    with translating_errors(*conn.errors):
        async with _own_block_async(conn) if len(statements) > 1 else nullcontext():
            for check in filter(None, map(CHECK_OF, statements)):
                check.read(await conn.fetch(check.query, check.params))
            return [statement.read(await conn.fetch(statement.query, statement.params)) for statement in statements]


def binds_on_client(conn: Foreign) -> bool:
    """Return whether a connection writes values into the text of statements, where the server may log them."""
    with translating_errors(*conn.errors):
        return conn.binds_on_client


@contextmanager
def translating_errors(*drivers: type[Exception]) -> Iterator[None]:
    """Translate errors of psycopg and of `drivers` within the block into ours, caused by the driver's error."""
    try:
        yield
    except FROM_PSYCOPG + drivers as error:
        raise translate(error) from error


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


class _Plan(NamedTuple):
    """How statements are executed: how often they may be repeated, and the number of events before them.

    `is_joint`: in a transaction of ours. `level` is the SQL before a statement outside of one.
    """

    repeats: int
    event_count: int
    is_joint: bool
    level: LiteralString = ""


def _plan(conn: AnyConnection, statements: Sequence[Statement[Any]], collector: EventCollector | None) -> _Plan:
    event_count = 0 if collector is None else len(collector.events)
    if not is_free(conn):
        return _Plan(0, event_count, is_joint=False)
    must_set_level = isinstance(conn, OURS) and conn.isolation_level is not None
    is_joint = len(statements) > 1
    if must_set_level or collector is not None:
        # More than the statement is sent, which for a confidential one takes several messages.
        is_joint = is_joint or any(statement.is_confidential for statement in statements)
    return _Plan(REPEATS, event_count, is_joint, SET_LEVEL if must_set_level and not is_joint else "")


def _plan_repeat(plan: _Plan, conn: AnyConnection, error: Exception, collector: EventCollector | None) -> _Plan:
    """Return the plan for another try. Raises the error as ours if there is none."""
    translated = translate(error)
    if not (plan.repeats and isinstance(translated, DatabaseError) and _may_be_repeated(conn, translated)):
        raise translated from error
    if collector is not None:
        collector.forget(plan.event_count)
    return plan._replace(repeats=plan.repeats - 1)


def _send(
    conn: psycopg.Connection[Any], statement: Statement[T], collector: EventCollector | None = None, level: str = ""
) -> T:
    messages, is_joined = _messages(statement, collector, level)
    answers = []
    # Not conn.cursor(), because a caller's connection may have another cursor class or row factory.
    with (psycopg.ClientCursor if is_joined else psycopg.Cursor)(conn, row_factory=tuple_row) as cursor:
        for query, params in messages:
            cursor.execute(query, params, prepare=None if isinstance(conn, OURS) else False)
            has_more: bool | None = True
            while has_more:
                # Not by the description, which reads the names and types of all columns.
                has_rows = cursor.pgresult is not None and cursor.pgresult.nfields > 0
                answers.append(cursor.fetchall() if has_rows else [])
                has_more = cursor.nextset()
    if collector is not None:
        collector.take(answers.pop())
    return statement.read(answers[-1])


async def _send_async(
    conn: psycopg.AsyncConnection[Any],
    statement: Statement[T],
    collector: EventCollector | None = None,
    level: str = "",
) -> T:
    messages, is_joined = _messages(statement, collector, level)
    answers = []
    async with (psycopg.AsyncClientCursor if is_joined else psycopg.AsyncCursor)(conn, row_factory=tuple_row) as cursor:
        for query, params in messages:
            await cursor.execute(query, params, prepare=None if isinstance(conn, OURS) else False)
            has_more: bool | None = True
            while has_more:
                has_rows = cursor.pgresult is not None and cursor.pgresult.nfields > 0
                answers.append(await cursor.fetchall() if has_rows else [])
                has_more = cursor.nextset()
    if collector is not None:
        collector.take(answers.pop())
    return statement.read(answers[-1])


def _messages(
    statement: Statement[Any], collector: EventCollector | None, level: str
) -> tuple[list[tuple[str, Sequence[object]]], bool]:
    """Return the messages to send, each a text and its values, and whether one consists of several queries.

    The driver can send such a message only with the values written into it.
    """
    if collector is None:
        return [(level + statement.query, statement.params)], bool(level)
    before, after = collector.around()
    if statement.is_confidential:
        return [(before, ()), (statement.query, statement.params), (after, ())], False
    return [(f"{level}{before}; {statement.query}; {after}", statement.params)], True


def _may_be_repeated(conn: AnyConnection, error: DatabaseError) -> bool:
    if error.sqlstate in NOT_AS_PREPARED and isinstance(conn, OURS) and conn.prepare_threshold is not None:
        conn.forget_prepared()
        return not conn.closed
    return error.sqlstate == DEADLOCK


def translate(error: Exception) -> RolecallError:
    """Return our error for a driver's error. Raise it from that error."""
    # By SQLSTATE and class, never by the message, which depends on the server's language.
    driver_error = _driver_error(error)
    if isinstance(driver_error, UnicodeEncodeError):
        return InvalidTask(_encoding_problem(driver_error))
    if isinstance(driver_error, NotImplementedError):
        return ConfigError(f"{driver_error}: execute `set datestyle = 'ISO'` on it first", variable="connection")
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


def _encoding_problem(error: UnicodeEncodeError) -> str:
    if any("\ud800" <= character <= "\udfff" for character in error.object[error.start : error.end]):
        return "a text contains half a surrogate pair"
    return f"a text contains a character that the connection's encoding, {error.encoding}, does not have"


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
