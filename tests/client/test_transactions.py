from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from rolecall import App, ConfigError, NewTask, TaskNotFound, TaskState
from tests.client.conftest import Face, Kind, counted

Connection = psycopg.Connection[Any]


async def test_task_is_committed_with_the_callers_transaction(face: Face, connection: Connection) -> None:
    with counted(connection) as grown:
        async with face.transaction() as own:
            stored = await face("enqueue", "add", {"a": 1}, connection=own)
            with pytest.raises(TaskNotFound):
                await face("get", stored.id)
    assert grown == [1]


async def test_task_is_rolled_back_with_the_callers_transaction(face: Face, connection: Connection) -> None:
    batch = [NewTask(handler="add", payload={"a": n}) for n in range(20_001)]

    with counted(connection) as grown:
        async with face.transaction(commit=False) as own:
            await face("enqueue_many", batch, connection=own)
    assert grown == [0]


async def test_cancel_and_retry_share_the_transaction(face: Face) -> None:
    stored = await face("enqueue", "add", {"a": 1})

    async with face.transaction(commit=False) as own:
        assert await face("cancel", stored.id, connection=own) == {stored.id: "cancelled"}
        assert await face("retry", [stored.id], connection=own) == {stored.id: "pending"}
        assert await face("cancel", [stored.id], connection=own) == {stored.id: "cancelled"}

    assert (await face("get", stored.id)).state is TaskState.PENDING


async def test_client_without_a_database_declares_through_the_callers_connection(
    kind: Kind, database: str, app: App, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "host=127.0.0.1 port=1")
    face = Face(kind, None, app)
    face.database = database

    async with face.transaction(commit=False) as own:
        await face("enqueue", "add", {"a": 1}, connection=own)
    async with face.transaction() as own:
        await face("enqueue", "add", {"a": 1}, connection=own)

    assert connection.execute("select name from rolecall.handlers").fetchall() == [("add",)]


async def test_environment_variable_names_the_database(
    kind: Kind, database: str, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", database)
    face = Face(kind, None, app)

    stored = await face("enqueue", "add", {"a": 1})
    await face("close")

    assert stored.id > 0


@pytest.mark.parametrize("what", ["the other face's", "no connection at all"])
async def test_connection_of_another_kind_is_rejected(face: Face, what: str) -> None:
    other = Face("async" if face.kind == "sync" else "sync", face.database)
    async with other.transaction() as foreign:
        with pytest.raises(ConfigError, match="connection: needs a psycopg"):
            await face("enqueue", "add", {"a": 1}, connection=foreign if "face" in what else object())


async def test_given_pool_stays_open(kind: Kind, database: str, app: App) -> None:
    if kind == "sync":
        with ConnectionPool(database, min_size=1, open=True) as pool:
            await _use(Face(kind, pool, app))
            assert not pool.closed
    else:
        async with AsyncConnectionPool(database, min_size=1, open=False) as apool:
            await _use(Face(kind, apool, app))
            assert not apool.closed


async def _use(face: Face) -> None:
    assert (await face("enqueue", "add", {"a": 1})).id > 0
    await face("close")
