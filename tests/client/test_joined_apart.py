"""Connections that cannot be joined and connections in autocommit mode, for each library."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import psycopg
import psycopg2
import pytest
import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from rolecall import App, AsyncClient, Client, ConfigError, DatabaseUnavailable, NewTask, UnknownRole
from rolecall.sql.enqueue import CHUNK
from tests.client.conftest import counted
from tests.client.doors import Django, SqlalchemyAsyncSession, uri_of, url_of, visiting

Connection = psycopg.Connection[Any]
# The maximum of one statement; another task needs a second statement.
MANY = CHUNK


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2"])
def test_driver_connection_without_a_begun_sqlalchemy_transaction_is_rejected(
    driver: str, database: str, app: App, connection: Connection
) -> None:
    engine = sqlalchemy.create_engine(url_of(database, driver))
    with counted(connection) as grown, Client(database, app=app) as client, engine.connect() as own:
        with pytest.raises(ConfigError, match="pass the SQLAlchemy connection or session itself"):
            client.enqueue("add", {"a": 1}, connection=own.connection.driver_connection)
        own.execute(sqlalchemy.text("select 1"))
        client.enqueue("add", {"a": 1}, connection=own.connection.driver_connection)
        own.commit()
    engine.dispose()

    assert grown == [1]


@pytest.mark.parametrize("driver", ["psycopg", "asyncpg"])
async def test_async_driver_connection_without_a_begun_sqlalchemy_transaction_is_rejected(
    driver: str, database: str, app: App
) -> None:
    engine = create_async_engine(url_of(database, driver))
    async with AsyncClient(database, app=app) as client, engine.connect() as own:
        raw: Any = (await own.get_raw_connection()).driver_connection
        with pytest.raises(ConfigError, match="pass the SQLAlchemy connection or session itself"):
            await client.enqueue("add", {"a": 1}, connection=raw)
    await engine.dispose()


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2"])
def test_plain_driver_connection_is_accepted_next_to_sqlalchemy(
    driver: str, database: str, app: App, connection: Connection
) -> None:
    own: Any = psycopg.connect(database) if driver == "psycopg" else psycopg2.connect(database)
    with counted(connection) as grown, Client(database, app=app) as client:
        for number in range(2):
            client.enqueue("add", {"a": number}, connection=own)
            own.commit()
        own.close()

    assert grown == [2]


def test_batch_is_atomic_on_an_autocommit_connection(database: str, app: App, connection: Connection) -> None:
    batch = [NewTask(handler="add", payload={"a": 1})] * MANY + [NewTask(role="nobody", handler="nobody")]
    own = psycopg2.connect(database)
    own.autocommit = True
    with counted(connection) as grown, Client(database, app=app) as client, pytest.raises(UnknownRole):
        client.enqueue_many(batch, connection=own)
    own.close()

    assert grown == [0]


async def test_asyncpg_batch_outside_a_transaction_is_atomic(database: str, app: App, connection: Connection) -> None:
    batch = [NewTask(handler="add", payload={"a": 1})] * MANY
    own = await asyncpg.connect(uri_of(database))
    with counted(connection) as grown:
        async with AsyncClient(database, app=app) as client:
            with pytest.raises(UnknownRole):
                await client.enqueue_many([*batch, NewTask(role="nobody", handler="nobody")], connection=own)
            await client.enqueue_many([*batch, *batch[:1]], connection=own)
    await own.close()

    assert grown == [MANY + 1]


def test_sqlalchemy_connection_in_autocommit_stores_immediately(
    database: str, app: App, connection: Connection
) -> None:
    engine = sqlalchemy.create_engine(url_of(database, "psycopg"), isolation_level="AUTOCOMMIT")
    with counted(connection) as grown, Client(database, app=app) as client, engine.connect() as own:
        client.enqueue_many([NewTask(handler="add", payload={"a": 1})] * (MANY + 1), connection=own)
        own.rollback()
    engine.dispose()

    assert grown == [MANY + 1]


def test_session_with_an_unreachable_server_raises_database_unavailable(database: str, app: App) -> None:
    engine = sqlalchemy.create_engine("postgresql+psycopg://nobody@127.0.0.1:1/nowhere")
    with (
        Client(database, app=app) as client,
        Session(engine) as session,
        pytest.raises(DatabaseUnavailable),
    ):
        client.enqueue("add", {"a": 1}, connection=session)
    engine.dispose()


def test_database_other_than_postgres_is_rejected(database: str, app: App) -> None:
    engine = sqlalchemy.create_engine("sqlite://")
    with (
        Client(database, app=app) as client,
        Session(engine) as session,
        pytest.raises(ConfigError, match="does not lead to a Postgres database"),
    ):
        client.enqueue("add", {"a": 1}, connection=session)
    engine.dispose()


async def test_session_of_the_other_kind_is_rejected_with_the_matching_client(database: str, app: App) -> None:
    async with visiting(SqlalchemyAsyncSession, database, app, database) as visitor:
        with (
            Client(database, app=app) as client,
            pytest.raises(ConfigError, match=r"AsyncClient takes asyncpg or SQLAlchemy's asyncio"),
        ):
            await asyncio.to_thread(client.enqueue, "add", {"a": 1}, connection=visitor.door.handed)
    async with visiting(Django, database, app, database) as visitor, AsyncClient(database, app=app) as aclient:
        with pytest.raises(ConfigError, match=r"Client takes psycopg2, SQLAlchemy or Django"):
            await aclient.enqueue("add", {"a": 1}, connection=visitor.door.handed)


async def test_unknown_django_alias_is_rejected(database: str, app: App) -> None:
    async with visiting(Django, database, app, database) as visitor:
        visitor.door.handed = "nowhere"
        with pytest.raises(ConfigError, match="nowhere"):
            await visitor("enqueue", "add", {"a": 1})


async def test_sync_client_works_inside_run_sync(database: str, app: App, connection: Connection) -> None:
    engine = create_async_engine(url_of(database, "asyncpg"))
    with counted(connection) as grown, Client(database, app=app) as client:
        client.open()
        async with AsyncSession(engine) as session:
            await session.run_sync(lambda own: client.enqueue("add", {"a": 1}, connection=own))
            await session.commit()
    await engine.dispose()

    assert grown == [1]


def test_custom_row_class_of_the_caller_is_supported(database: str, app: App, connection: Connection) -> None:
    import psycopg2.extras  # noqa: PLC0415 - of this test only

    own = psycopg2.connect(database, cursor_factory=psycopg2.extras.RealDictCursor)
    with counted(connection) as grown, Client(database, app=app) as client:
        client.enqueue("add", {"a": 1}, connection=own)
        own.commit()
    own.close()

    assert grown == [1]


async def test_custom_codec_of_the_caller_is_supported(database: str, app: App, connection: Connection) -> None:
    import json  # noqa: PLC0415 - of this test only

    own = await asyncpg.connect(uri_of(database))
    await own.set_type_codec("jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog")
    with counted(connection) as grown:
        async with AsyncClient(database, app=app) as client:
            await client.enqueue("add", {"a": 1}, connection=own)
    await own.close()

    assert grown == [1]
    assert connection.execute("select payload ->> 'a' from rolecall.all_tasks").fetchall() == [("1",)]
