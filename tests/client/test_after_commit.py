"""`client.transaction()` and its after-commit calls, with both clients."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import psycopg
import pytest
from psycopg_pool import ConnectionPool

from rolecall import App, AsyncClient, Client, ConfigError
from tests.client.conftest import Face, counted

Connection = psycopg.Connection[Any]


@asynccontextmanager
async def entered(block: Any) -> AsyncIterator[Any]:
    """Enter a block of either kind."""
    if hasattr(block, "__aenter__"):
        async with block as inner:
            yield inner
    else:
        with block as inner:
            yield inner


async def test_after_commit_calls_run_once_in_order_after_the_commit(face: Face, connection: Connection) -> None:
    seen: list[object] = []

    def tell(name: str) -> None:
        seen.append((name, connection.execute("select count(*) from rolecall.tasks").fetchone()))

    async with entered(face.client.transaction()) as own:
        await face("enqueue", "add", {"a": 1}, connection=own)
        face.client.after_commit(partial(tell, "first"))
        face.client.after_commit(partial(tell, "second"))
        tell("within")

    assert seen == [("within", (0,)), ("first", (1,)), ("second", (1,))]


@pytest.mark.parametrize("error", [ValueError, psycopg.Rollback])
async def test_after_commit_calls_are_dropped_after_a_rollback(
    face: Face, connection: Connection, error: type[Exception]
) -> None:
    seen: list[str] = []

    with counted(connection) as grown, suppress(ValueError):
        async with entered(face.client.transaction()) as own:
            await face("enqueue", "add", {"a": 1}, connection=own)
            face.client.after_commit(lambda: seen.append("called"))
            raise error

    assert (seen, grown) == ([], [0])


async def test_after_commit_calls_are_dropped_after_a_failed_commit(face: Face, connection: Connection) -> None:
    connection.execute("create table late (n int unique deferrable initially deferred)")
    seen: list[str] = []

    async def order() -> None:
        async with entered(face.client.transaction()) as own:
            await ran(own.execute("insert into late values (1), (1)"))
            face.client.after_commit(lambda: seen.append("called"))

    with pytest.raises(psycopg.errors.UniqueViolation):
        await order()

    assert seen == []


@pytest.mark.parametrize("of", ["client", "connection"])
async def test_rolled_back_savepoint_drops_its_after_commit_calls(face: Face, of: str) -> None:
    seen: list[str] = []

    def later(name: str) -> None:
        face.client.after_commit(lambda: seen.append(name))

    async with entered(face.client.transaction()) as own:
        begin: Callable[[], Any] = face.client.transaction if of == "client" else own.transaction
        later("before")
        with suppress(ValueError):
            async with entered(begin()):
                later("undone")
                async with entered(begin()):
                    later("undone too")
                raise ValueError
        async with entered(begin()):
            later("kept")
            async with entered(begin()):
                later("undone as well")
                undo()
        later("after")

    assert seen == ["before", "kept", "after"]


async def test_raising_after_commit_call_is_logged_and_affects_nothing_else(
    face: Face, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []

    async with entered(face.client.transaction()) as own:
        stored = await face("enqueue", "add", {"a": 1}, connection=own)
        face.client.after_commit(partial(int, "x"))
        face.client.after_commit(lambda: seen.append("next"))

    assert seen == ["next"]
    assert (await face("get", stored.id)).id == stored.id
    assert "An after-commit call failed" in caplog.text
    assert "invalid literal" in caplog.text


async def test_after_commit_outside_the_transaction_block_is_rejected(face: Face) -> None:
    """Includes a transaction of the caller's own, and another client's block."""
    other = AsyncClient(face.database)

    async with entered(face.client.transaction()):
        with pytest.raises(ConfigError, match=r"requires a client\.transaction\(\) block.*make the call yourself"):
            other.after_commit(print)
    async with face.transaction():
        with pytest.raises(ConfigError, match="after_commit"):
            face.client.after_commit(print)


async def test_after_commit_call_can_use_the_only_connection_of_a_pool(database: str, app: App) -> None:
    with ConnectionPool(database, min_size=1, max_size=1, timeout=5) as pool:
        client = Client(pool, app=app)
        client.enqueue("add", {"a": 0})
        found: list[object] = []

        with client.transaction() as own:
            stored = client.enqueue("add", {"a": 1}, connection=own)
            client.after_commit(lambda: found.append(client.get(stored.id).id))

        assert found == [stored.id]


async def test_async_client_awaits_async_calls_and_a_sync_client_rejects_them(database: str) -> None:
    seen: list[str] = []

    async def tell(name: str) -> None:
        await asyncio.sleep(0)
        seen.append(name)

    async with AsyncClient(database) as client, client.transaction():
        client.after_commit(partial(tell, "first"))
        client.after_commit(lambda: seen.append("second"))
        client.after_commit(lambda: tell("third"))
    with Client(database) as sync_client, sync_client.transaction(), pytest.raises(TypeError, match="AsyncClient"):
        sync_client.after_commit(partial(tell, "never"))

    assert seen == ["first", "second", "third"]


async def test_concurrent_transactions_keep_their_after_commit_calls_separate(database: str) -> None:
    seen: list[int] = []

    async def order(client: AsyncClient, number: int, both: asyncio.Barrier) -> None:
        with suppress(ValueError):
            async with client.transaction():
                client.after_commit(lambda: seen.append(number))
                await both.wait()
                if number == 1:
                    raise ValueError

    async with AsyncClient(database) as client:
        both = asyncio.Barrier(2)
        await asyncio.gather(*(order(client, number, both) for number in range(2)))

    assert seen == [0]


async def test_after_commit_from_a_task_that_outlives_the_block_is_rejected(database: str) -> None:
    """The asyncio task was started in the block and outlives it."""
    refused: list[Exception] = []
    over = asyncio.Event()

    async def outlive(client: AsyncClient) -> None:
        await over.wait()
        try:
            client.after_commit(print)
        except ConfigError as error:
            refused.append(error)

    async with AsyncClient(database) as client:
        async with client.transaction():
            left = asyncio.create_task(outlive(client))
        over.set()
        await left

    assert len(refused) == 1


async def ran(call: Any) -> Any:
    return await call if inspect.isawaitable(call) else call


def undo() -> None:
    raise psycopg.Rollback
