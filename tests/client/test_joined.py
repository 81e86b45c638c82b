"""A task joins the caller's transaction, whichever library opened it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest

from rolecall import App, AsyncClient, Client, ConfigError, InvalidPayload, NewTask, UnknownRole
from rolecall.db.run import run
from rolecall.sql import claims
from tests.client.conftest import counted
from tests.client.doors import DOORS, Door, Visitor, visiting

Connection = psycopg.Connection[Any]
NOBODY = "host=127.0.0.1 port=1"


@pytest.fixture(params=DOORS, ids=[kind.__name__ for kind in DOORS])
def kind(request: pytest.FixtureRequest) -> type[Door]:
    return request.param  # type: ignore[no-any-return]  # one of the params above


@pytest.fixture
async def visitor(kind: type[Door], database: str, app: App) -> AsyncIterator[Visitor]:
    async with visiting(kind, database, app, database) as visitor:
        yield visitor


async def test_task_is_committed_with_the_callers_rows(visitor: Visitor, connection: Connection) -> None:
    connection.execute("create table orders (number int)")

    await visitor.door.execute("insert into orders values (7)")
    stored = await visitor("enqueue", "add", {"a": 1})
    assert connection.execute("select count(*) from rolecall.all_tasks").fetchall() == [(0,)]
    await visitor.door.commit()

    assert connection.execute("select number from orders").fetchall() == [(7,)]
    assert connection.execute("select id, handler from rolecall.all_tasks").fetchall() == [(stored.id, "add")]


async def test_task_enqueued_before_the_first_write_is_committed_with_it(
    visitor: Visitor, connection: Connection
) -> None:
    with counted(connection) as grown:
        await visitor("enqueue", "add", {"a": 1})
        await visitor.door.commit()

    assert grown == [1]


async def test_tasks_are_rolled_back_with_the_transaction(visitor: Visitor, connection: Connection) -> None:
    batch = [NewTask(handler="add", payload={"a": n}) for n in range(20_001)]

    with counted(connection) as grown:
        await visitor("enqueue_many", batch)
        await visitor.door.rollback()

    assert grown == [0]


async def test_rolled_back_savepoint_removes_its_task(visitor: Visitor, connection: Connection) -> None:
    with counted(connection) as grown:
        await visitor("enqueue", "add", {"a": 1})
        await visitor.enqueue_undone("add", {"a": 2})
        await visitor.door.commit()

    assert grown == [1]
    assert connection.execute("select payload ->> 'a' from rolecall.all_tasks").fetchall() == [("1",)]


async def test_keys_and_dedupe_keys_work_in_a_shared_transaction(visitor: Visitor, connection: Connection) -> None:
    first = await visitor("enqueue", "add", {"a": 1}, key="customer:7", dedupe_key="once")
    again = await visitor("enqueue", "add", {"a": 2}, key="customer:7", dedupe_key="once")
    await visitor.door.commit()

    assert (again.id, again.deduplicated) == (first.id, True)
    assert connection.execute("select key, dedupe_key from rolecall.all_tasks").fetchall() == [("customer:7", "once")]


async def test_invalid_payload_is_rejected_and_does_not_affect_the_transaction(
    visitor: Visitor, connection: Connection
) -> None:
    with counted(connection) as grown:
        with pytest.raises(InvalidPayload):
            await visitor("enqueue", "add", {"a": "one"})
        await visitor("enqueue", "add", {"a": 1})
        await visitor.door.commit()

    assert grown == [1]


async def test_server_rejection_raises_a_rolecall_error(visitor: Visitor) -> None:
    with pytest.raises(UnknownRole, match="nobody"):
        await visitor("enqueue", NewTask(handler="nobody"))
    await visitor.door.rollback()


async def test_text_that_no_server_accepts_raises_a_rolecall_error(visitor: Visitor) -> None:
    with pytest.raises(Exception, match="surrogate|NUL|null|0x00|\\\\u0000") as refused:
        await visitor("fail_by_token", "half a pair: \ud800", "why")
    await visitor.door.rollback()

    assert type(refused.value).__module__.startswith("rolecall")


async def test_client_without_a_database_declares_the_app_in_the_callers_transaction(
    kind: type[Door], database: str, app: App, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", NOBODY)
    async with visiting(kind, database, app, None) as visitor:
        await visitor("enqueue", "add", {"a": 1})
        await visitor.door.commit()

    assert connection.execute("select name from rolecall.handlers").fetchall() == [("add",)]


async def test_every_client_method_can_share_the_transaction(visitor: Visitor, connection: Connection) -> None:
    batch = [NewTask(handler="add", payload={"a": n}) for n in range(5)]
    first, second, third, fourth, fifth = [stored.id for stored in await visitor("enqueue_many", batch)]

    assert await visitor("cancel", first) == {first: "cancelled"}
    assert await visitor("retry", first) == {first: "pending"}
    assert list(await visitor("trigger", first)) == [first]
    assert await visitor("complete", first, {"sum": 1}) == "completed"
    assert await visitor("fail", second, "no") == "failed"
    token = await visitor("issue_token", third)
    assert await visitor("complete_by_token", token, {"sum": 2}) == third
    assert await visitor("fail_by_token", await visitor("issue_token", fourth), "no") == fourth
    assert await visitor("complete_chain", fifth, {"sum": 3}) == "completed"
    assert await visitor("delete_chains", second) == {second: 1}
    await visitor.door.commit()

    states = dict(connection.execute("select id, state from rolecall.all_tasks").fetchall())
    assert states == {first: "completed", third: "completed", fourth: "failed", fifth: "completed"}


async def test_spawned_children_share_the_transaction(visitor: Visitor, connection: Connection) -> None:
    parent = (await visitor("enqueue", "add", {"a": 1})).id
    await visitor.door.commit()
    run(connection, claims.claim(_worker(connection), [], ["add"], 1))

    async with visiting(type(visitor.door), visitor.door.dsn, App("another"), visitor.door.dsn) as second:
        (child,) = await second("spawn", parent, [NewTask(handler="add", payload={"a": 2})])
        await second.door.commit()

    assert connection.execute("select parent_id from rolecall.tasks where id = %s", [child.id]).fetchall() == [
        (parent,)
    ]


async def test_chain_block_shares_the_callers_transaction(visitor: Visitor, connection: Connection) -> None:
    chain_id = (await visitor("enqueue", "add", {"a": 1})).id

    await visitor.door.call(_complete, visitor, chain_id)
    assert connection.execute("select count(*) from rolecall.all_tasks").fetchall() == [(0,)]
    await visitor.door.commit()

    assert connection.execute("select state from rolecall.all_tasks").fetchall() == [("completed",)]


def _complete(visitor: Visitor, chain_id: int) -> Any:
    block = visitor.client.completing(chain_id, connection=visitor.door.handed)
    if isinstance(visitor.client, AsyncClient):
        return _complete_async(block)
    with block as chain:
        chain.complete({"sum": 3})
    return None


async def _complete_async(block: Any) -> None:
    async with block as chain:
        await chain.complete({"sum": 3})


def _worker(connection: Connection) -> int:
    row = connection.execute("select rolecall.register_worker('w', '{}', '{add}', 1, 'here', 1, 'test')").fetchone()
    assert row is not None
    return int(row[0])


def test_connection_in_pipeline_mode_is_rejected(database: str, app: App, connection: Connection) -> None:
    with (
        Client(database, app=app) as client,
        psycopg.connect(database) as joined,
        joined.pipeline(),
        pytest.raises(ConfigError, match="is in pipeline mode"),
    ):
        client.enqueue("add", {"a": 1}, connection=joined)

    assert connection.execute("select count(*) from rolecall.all_tasks").fetchall() == [(0,)]
