"""Connections behind a real PgBouncer in transaction mode, and to a database with another isolation level."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from rolecall.db.connect import connect, connect_async
from rolecall.db.pooler import Connection, Pooler
from rolecall.db.pools import async_pool, pool
from rolecall.db.run import run, run_all, run_async
from rolecall.sql.statement import Statement, single
from tests.servers import Bouncer, bouncing

ONE: Statement[int] = Statement(query="select %s::int", params=(1,), read=single)
SUM: Statement[int] = Statement(query="select %s::int + %s::int", params=(1, 1), read=single)
LEVEL: Statement[str] = Statement(query="select current_setting('transaction_isolation')", read=single)
PREPARED: Statement[int] = Statement(query="select count(*) from pg_prepared_statements", read=single)
# Psycopg prepares a statement after this number of executions.
OFTEN = 6


@pytest.fixture
def single_file(database: str) -> Iterator[Bouncer]:
    """A PgBouncer with one connection to the database, so that its clients share it in a known order."""
    with bouncing(database, size=1) as bouncer:
        yield bouncer


@pytest.fixture
def serializable(database: str, connection: psycopg.Connection[tuple[object, ...]]) -> str:
    """The test's database, with serializable transactions by default."""
    name = Identifier(connection.info.dbname)
    connection.execute(SQL("alter database {} set default_transaction_isolation = 'serializable'").format(name))
    return database


def prepare(connection: Connection, statement: Statement[int] = ONE) -> None:
    for _ in range(OFTEN):
        run(connection, statement)


def forget(dsn: str) -> None:
    """Deallocate prepared statements on a connection without the driver noticing it."""
    with psycopg.connect(dsn, autocommit=True) as other:
        other.execute("deallocate all")


def test_pooler_is_detected_at_the_first_connection_and_logged_once(
    database: str, pgbouncer: Bouncer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "rolecall.db")
    before, behind = Pooler(), Pooler()

    connect(database, "test", before).close()
    connect(pgbouncer.through(database), "test", behind).close()
    connect(pgbouncer.through(database), "test", behind).close()

    assert (before.is_present, behind.is_present) == (False, True)
    assert caplog.text.count("A pooler is in front of the database") == 1


@pytest.mark.parametrize("configured", [None, True])
def test_statements_are_not_prepared_behind_a_pooler(
    database: str, pgbouncer: Bouncer, configured: bool | None
) -> None:
    with connect(pgbouncer.through(database), "test", Pooler(configured=configured)) as connection:
        prepare(connection)

        assert run(connection, PREPARED) == 0


def test_frequent_statements_are_prepared_on_a_direct_connection(database: str) -> None:
    with connect(database, "test", Pooler()) as connection:
        prepare(connection)

        assert run(connection, PREPARED) == 1


async def test_connection_pools_detect_a_pooler(database: str, pgbouncer: Bouncer) -> None:
    through = pgbouncer.through(database)
    with pool(through, "test") as several, several.connection() as connection:
        prepare(connection)
        assert run(connection, PREPARED) == 0

    async with async_pool(through, "test") as several_async, several_async.connection() as aconnection:
        for _ in range(OFTEN):
            await run_async(aconnection, ONE)
        assert await run_async(aconnection, PREPARED) == 0


def test_statements_on_a_callers_connection_are_not_prepared(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        for _ in range(OFTEN):
            run(connection, ONE)

        assert run(connection, PREPARED) == 0


def test_statement_whose_name_is_taken_on_the_server_is_retried(
    database: str, single_file: Bouncer, caplog: pytest.LogCaptureFixture
) -> None:
    """The server answers with SQLSTATE 42P05."""
    through, wrong = single_file.through(database), Pooler(configured=False)
    with connect(through, "test", Pooler(configured=False)) as first, connect(through, "test", wrong) as second:
        prepare(first)
        prepare(second, SUM)

        assert run(second, SUM) == 2
    assert wrong.is_present
    assert [record.levelname for record in caplog.records if record.name == "rolecall.db"] == ["WARNING"]


def test_statement_missing_on_the_server_connection_is_retried(database: str, single_file: Bouncer) -> None:
    """The server answers with SQLSTATE 26000."""
    with connect(single_file.through(database), "test", Pooler(configured=False)) as connection:
        prepare(connection)
        forget(single_file.through(database))

        assert run(connection, ONE) == 1


def test_statement_replaced_by_that_of_another_client_is_retried(database: str, single_file: Bouncer) -> None:
    """The server answers with SQLSTATE 08P01."""
    through = single_file.through(database)
    with (
        connect(through, "test", Pooler(configured=False)) as first,
        connect(through, "test", Pooler(configured=False)) as second,
    ):
        prepare(first)
        forget(through)
        prepare(second, SUM)

        assert run(first, ONE) == 1


def test_own_connections_use_read_committed_if_the_default_differs(serializable: str) -> None:
    with connect(serializable, "test") as connection:
        assert run(connection, LEVEL) == "read committed"
        assert run_all(connection, [LEVEL, LEVEL]) == ["read committed"] * 2
        assert not connection.info.transaction_status


async def test_async_connections_use_read_committed_if_the_default_differs(serializable: str) -> None:
    async with await connect_async(serializable, "test") as connection:
        assert await run_async(connection, LEVEL) == "read committed"


def test_connections_behind_a_pooler_use_read_committed_without_a_session_setting(
    serializable: str, pgbouncer: Bouncer
) -> None:
    through = pgbouncer.through(serializable)
    with connect(through, "test") as connection:
        assert run(connection, LEVEL) == "read committed"

    with psycopg.connect(through, autocommit=True) as connection_of_another:
        assert run(connection_of_another, LEVEL) == "serializable"


def test_callers_connection_keeps_its_isolation_level(serializable: str) -> None:
    with psycopg.connect(serializable, autocommit=True) as connection:
        assert run(connection, LEVEL) == "serializable"
