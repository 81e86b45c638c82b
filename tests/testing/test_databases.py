from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import psycopg
import pytest
import sqlalchemy
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.sql import SQL
from sqlalchemy.ext.asyncio import create_async_engine

from rolecall import ConfigError
from rolecall.db.connect import connect, connect_async
from rolecall.testing import Clock, TestServer, clone, dsn_of, prepare, template, url_of

Connection = psycopg.Connection[Any]
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def shown(connection: Connection) -> Any:
    row = connection.execute("select rolecall.clock()").fetchone()
    return row[0] if row else None


def test_two_clones_are_isolated_from_each_other(postgres_server: TestServer, database_template: str) -> None:
    with (
        clone(postgres_server, database_template) as one,
        clone(postgres_server, database_template) as other,
        connect(one, "test") as here,
        connect(other, "test") as there,
    ):
        here.execute("insert into rolecall.roles (name) values ('mine')")

        assert there.execute("select count(*) from rolecall.roles").fetchall() == [(0,)]


def test_clone_is_dropped_afterwards_despite_open_connections(
    postgres_server: TestServer, database_template: str
) -> None:
    with clone(postgres_server, database_template) as dsn:
        forgotten = connect(dsn, "test")

    with pytest.raises(psycopg.OperationalError):
        forgotten.execute("select 1")
    forgotten.close()


def test_server_creates_databases_after_its_session_was_terminated(
    postgres_server: TestServer, database_template: str, connection: Connection
) -> None:
    own = TestServer(postgres_server.dsn("template1"))
    with clone(own, database_template):
        ended = connection.execute(
            "select pg_terminate_backend(pid, 10000) from pg_stat_activity"
            " where datname = 'template1' and application_name = 'rolecall:testing'"
        ).fetchall()

    with clone(own, database_template) as dsn, connect(dsn, "test") as other:
        assert ended == [(True,)]
        assert shown(other)


def test_clone_in_memory_contains_the_cached_catalogs_of_its_template(
    postgres_server: TestServer, database_template: str
) -> None:
    if postgres_server._strategy != SQL("file_copy"):
        pytest.skip("the server does not copy files")
    with clone(postgres_server, database_template) as dsn, connect(postgres_server.dsn("postgres"), "test") as outside:
        [(files,)] = outside.execute(
            "select array(select pg_ls_dir(format('base/%%s', oid))) from pg_database where datname = %s",
            (conninfo_to_dict(dsn)["dbname"],),
        ).fetchall()

        assert "pg_internal.init" in files


def test_template_contains_the_given_migrations(postgres_server: TestServer) -> None:
    with (
        template(postgres_server, migrations=[]) as name,
        clone(postgres_server, name) as dsn,
        connect(dsn, "test") as connection,
    ):
        assert connection.execute("select to_regnamespace('rolecall')").fetchall() == [(None,)]


def test_stopped_clock_does_not_advance(clock: Clock, connection: Connection) -> None:
    clock.set(NEW_YEAR)

    assert shown(connection) == shown(connection) == NEW_YEAR


def test_clock_can_be_advanced_by_hours_instantly(clock: Clock, connection: Connection, database: str) -> None:
    clock.set(NEW_YEAR)
    clock.advance(hours=5)

    assert shown(connection) == NEW_YEAR + timedelta(hours=5)
    with connect(database, "test") as later:
        assert shown(later) == NEW_YEAR + timedelta(hours=5)


def test_advance_starts_at_the_real_time(clock: Clock) -> None:
    before = clock.now()

    assert clock.advance(days=1) - before >= timedelta(days=1)


async def test_open_async_connection_sees_the_test_time(clock: Clock, database: str) -> None:
    async with await connect_async(database, "test") as connection:
        clock.set(NEW_YEAR)
        await clock.show(connection)

        cursor = await connection.execute("select rolecall.clock()")
        assert await cursor.fetchone() == (NEW_YEAR,)


def test_naive_datetime_is_rejected(clock: Clock) -> None:
    with pytest.raises(ValueError, match="time zone"):
        clock.set(datetime(2026, 1, 1))  # noqa: DTZ001 - on purpose


async def test_async_connection_fixture_is_available(aconnection: psycopg.AsyncConnection[Any]) -> None:
    cursor = await aconnection.execute("select count(*) from rolecall.roles")

    assert await cursor.fetchone() == (0,)


async def test_open_connections_follow_the_clock_within_transactions_too(
    clock: Clock, aconnection: psycopg.AsyncConnection[Any], database: str
) -> None:
    with psycopg.connect(database) as idle:
        clock.follow(idle)
        clock.set(NEW_YEAR)
        async with aconnection.transaction():
            clock.advance(hours=1)
            cursor = await aconnection.execute("select rolecall.clock()")
            assert await cursor.fetchone() == (NEW_YEAR + timedelta(hours=1),)

        assert idle.info.transaction_status is psycopg.pq.TransactionStatus.IDLE
        assert shown(idle) == NEW_YEAR + timedelta(hours=1)
    clock.advance(hours=1)


async def test_connection_with_a_running_statement_is_not_disturbed(
    clock: Clock, aconnection: psycopg.AsyncConnection[Any]
) -> None:
    asking = asyncio.create_task(aconnection.execute("select pg_sleep(0.2)"))
    while aconnection.info.transaction_status is not psycopg.pq.TransactionStatus.ACTIVE:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="executes a statement"):
        clock.set(NEW_YEAR)
    await asking


def test_clock_moves_through_a_following_connection_without_a_new_one(database: str, connection: Connection) -> None:
    clock = Clock(make_conninfo(database, options="-c no_such.setting"))
    clock.follow(connection)
    with pytest.raises(Exception, match="no_such"):
        clock.now()
    clock.set(NEW_YEAR)

    assert shown(connection) == NEW_YEAR


def test_clock_moves_while_all_following_connections_are_in_transactions(
    clock: Clock, connection: Connection, database: str
) -> None:
    with connection.transaction():
        clock.set(NEW_YEAR)
        with connect(database, "test") as later:
            assert shown(later) == NEW_YEAR


def test_connection_to_another_database_follows_the_clock_without_stopping_its_own(
    clock: Clock, connection: Connection, postgres_server: TestServer, database_template: str
) -> None:
    with clone(postgres_server, database_template) as other, connect(other, "test") as there:
        elsewhere = Clock(other)
        elsewhere.follow(connection)
        elsewhere.set(NEW_YEAR)

        assert shown(connection) == NEW_YEAR
        with connect(other, "test") as later, connect(clock._dsn, "test") as here:
            assert shown(later) == NEW_YEAR
            assert shown(here) > NEW_YEAR
        assert shown(there) > NEW_YEAR


def test_restarted_clock_shows_the_real_time(clock: Clock, connection: Connection, database: str) -> None:
    clock.set(NEW_YEAR)

    clock.restart()

    assert shown(connection) > NEW_YEAR
    with connect(database, "test") as later:
        assert shown(later) > NEW_YEAR


async def test_connections_of_other_libraries_see_the_test_time(clock: Clock, database: str) -> None:
    theirs = await asyncpg.connect(url_of(database))
    try:
        clock.set(NEW_YEAR)
        await clock.show(theirs)

        assert await theirs.fetchval("select rolecall.clock()") == NEW_YEAR
    finally:
        await theirs.close()


def test_own_database_is_migrated_once(postgres_server: TestServer) -> None:
    postgres_server.create("rolecall_prepared")
    try:
        dsn = prepare(url_of(postgres_server.dsn("rolecall_prepared"), "asyncpg"))
        with connect(dsn, "test") as connection:
            assert shown(connection) is not None
        assert prepare(dsn) == dsn
    finally:
        postgres_server.drop("rolecall_prepared")


@pytest.mark.parametrize(
    ("given", "dsn"),
    [
        ("postgresql+asyncpg://ada:secret@db:5432/shop", "postgresql://ada:secret@db:5432/shop"),
        ("postgres://db/shop", "postgres://db/shop"),
        ("dbname=shop host=db", "dbname=shop host=db"),
        (sqlalchemy.make_url("postgresql+psycopg://ada:s%40cret@db/shop"), "postgresql://ada:s%40cret@db/shop"),
        (create_async_engine("postgresql+asyncpg://ada@db/shop"), "postgresql://ada@db/shop"),
    ],
)
def test_dsn_is_derived_from_sqlalchemy_objects(given: object, dsn: str) -> None:
    assert dsn_of(given) == dsn


def test_non_database_argument_is_rejected() -> None:
    with pytest.raises(ConfigError, match="database: must be a connection string, or an engine or URL"):
        dsn_of(7)


def test_url_refers_to_the_same_database(database: str, database_url: str) -> None:
    with psycopg.connect(database) as one, psycopg.connect(database_url) as other:
        assert one.info.dbname == other.info.dbname
        assert one.info.port == other.info.port


@pytest.mark.parametrize("mode", ["disable", "prefer"])
async def test_asyncpg_engine_connects_with_its_url(database: str, mode: str) -> None:
    engine = create_async_engine(url_of(f"{database} sslmode={mode}", "asyncpg"))
    try:
        async with engine.connect() as connection:
            assert await connection.scalar(sqlalchemy.text("select 1")) == 1
    finally:
        await engine.dispose()


@pytest.mark.parametrize(
    ("dsn", "url"),
    [
        ("host=db dbname=shop", "postgresql+asyncpg://db/shop"),
        ("user=ada password='a b@' host=db port=5433 dbname=shop", "postgresql+asyncpg://ada:a%20b%40@db:5433/shop"),
        (
            "user=ada host=db dbname=shop sslmode=require",
            "postgresql+asyncpg://ada@db/shop?ssl=require",
        ),
        ("host=/run/pg port=6432 user=ada dbname=shop", "postgresql+asyncpg://ada@/shop?host=%2Frun%2Fpg&port=6432"),
        ("user=ada port=6432 dbname=shop", "postgresql+asyncpg://ada@/shop?port=6432"),
    ],
)
def test_dsn_is_converted_to_a_url(dsn: str, url: str) -> None:
    assert url_of(dsn, "asyncpg") == url
    assert conninfo_to_dict(dsn_of(url)) == conninfo_to_dict(dsn)
