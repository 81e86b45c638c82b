from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from rolecall.db.connect import connect, connect_async
from rolecall.testing import Clock, TestServer, clone, template

Connection = psycopg.Connection[Any]
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def shown(connection: Connection) -> Any:
    row = connection.execute("select rolecall.clock()").fetchone()
    return row[0] if row else None


def test_two_clones_do_not_see_each_other(postgres_server: TestServer, database_template: str) -> None:
    with (
        clone(postgres_server, database_template) as one,
        clone(postgres_server, database_template) as other,
        connect(one, "test") as here,
        connect(other, "test") as there,
    ):
        here.execute("insert into rolecall.roles (name) values ('mine')")

        assert there.execute("select count(*) from rolecall.roles").fetchall() == [(0,)]


def test_a_clone_is_gone_afterwards_whoever_is_connected(postgres_server: TestServer, database_template: str) -> None:
    with clone(postgres_server, database_template) as dsn:
        forgotten = connect(dsn, "test")

    with pytest.raises(psycopg.OperationalError):
        forgotten.execute("select 1")
    forgotten.close()


def test_a_template_carries_the_migrations_that_it_is_given(postgres_server: TestServer) -> None:
    with (
        template(postgres_server, migrations=[]) as name,
        clone(postgres_server, name) as dsn,
        connect(dsn, "test") as connection,
    ):
        assert connection.execute("select to_regnamespace('rolecall')").fetchall() == [(None,)]


def test_a_stopped_clock_stands_still(clock: Clock, connection: Connection) -> None:
    clock.set(NEW_YEAR)

    assert shown(connection) == shown(connection) == NEW_YEAR


def test_hours_pass_at_once(clock: Clock, connection: Connection, database: str) -> None:
    clock.set(NEW_YEAR)
    clock.advance(hours=5)

    assert shown(connection) == NEW_YEAR + timedelta(hours=5)
    with connect(database, "test") as later:
        assert shown(later) == NEW_YEAR + timedelta(hours=5)


def test_an_advance_begins_at_the_real_time(clock: Clock) -> None:
    before = clock.now()

    assert clock.advance(days=1) - before >= timedelta(days=1)


async def test_an_open_async_connection_is_shown_the_time(clock: Clock, database: str) -> None:
    async with await connect_async(database, "test") as connection:
        clock.set(NEW_YEAR)
        await clock.show(connection)

        cursor = await connection.execute("select rolecall.clock()")
        assert await cursor.fetchone() == (NEW_YEAR,)


def test_a_moment_without_a_zone_is_refused(clock: Clock) -> None:
    with pytest.raises(ValueError, match="time zone"):
        clock.set(datetime(2026, 1, 1))  # noqa: DTZ001 - on purpose


async def test_an_async_connection_is_at_hand(aconnection: psycopg.AsyncConnection[Any]) -> None:
    cursor = await aconnection.execute("select count(*) from rolecall.roles")

    assert await cursor.fetchone() == (0,)
