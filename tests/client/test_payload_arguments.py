"""Payload fields are arguments of the call, both in a client and in the handler itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest

from rolecall import App, AsyncClient, Client, ConfigError, InvalidPayload, InvalidTask
from tests.client.conftest import Face, Kind

Connection = psycopg.Connection[Any]
STORED = "select handler, payload, priority, key from rolecall.all_tasks order by id"


@pytest.fixture
def app() -> App:
    app = App("shop")

    @app.task
    async def greet(name: str, loud: bool = False) -> str:
        return f"{name}{loud}"

    @app.task
    async def echo(ctx: Any, /, **payload: Any) -> None: ...

    return app


@pytest.fixture
def greet(app: App) -> Any:
    return app.handlers["greet"]


@pytest.fixture
async def face(kind: Kind, database: str, app: App) -> AsyncIterator[Face]:
    face = Face(kind, database, app)
    yield face
    await face("close")


async def test_arguments_of_the_call_become_the_payload(face: Face, greet: Any, connection: Connection) -> None:
    await face("enqueue", greet, name="Ada", loud=True)
    await face("enqueue", greet, "Ada")

    assert connection.execute(STORED).fetchall() == [
        ("greet", {"name": "Ada", "loud": True}, 0, None),
        ("greet", {"name": "Ada"}, 0, None),
    ]


async def test_options_can_be_mixed_with_payload_arguments(face: Face, greet: Any, connection: Connection) -> None:
    await face("enqueue", greet, name="Ada", priority=5, key="customer:7")

    assert connection.execute(STORED).fetchall() == [("greet", {"name": "Ada"}, 5, "customer:7")]


async def test_payload_can_be_given_as_a_keyword(face: Face, greet: Any, connection: Connection) -> None:
    await face("enqueue", greet, payload={"name": "Ada"}, priority=5)
    await face("enqueue", "greet", payload={"name": "Bob"})

    assert connection.execute(STORED).fetchall() == [
        ("greet", {"name": "Ada"}, 5, None),
        ("greet", {"name": "Bob"}, 0, None),
    ]


async def test_handler_of_any_payload_accepts_any_keyword(face: Face, app: App, connection: Connection) -> None:
    await face("enqueue", app.handlers["echo"], anything=[1, 2])

    assert connection.execute(STORED).fetchall() == [("echo", {"anything": [1, 2]}, 0, None)]


async def test_invalid_arguments_are_rejected(face: Face, greet: Any) -> None:
    with pytest.raises(InvalidPayload):
        await face("enqueue", greet, name=7)
    with pytest.raises(InvalidPayload):
        await face("enqueue", greet, loud=True)
    with pytest.raises(TypeError, match="takes 2 values, not 3"):
        await face("enqueue", greet, "Ada", 2, 3)
    with pytest.raises(TypeError, match="got 'name' twice"):
        await face("enqueue", greet, "Ada", name="Ada")
    with pytest.raises(InvalidTask, match="not an object but int"):
        await face("enqueue", "greet", 7)


async def test_options_of_using_apply_to_later_calls(face: Face, greet: Any, connection: Connection) -> None:
    eager = greet.using(priority=5, key="customer:7")

    await face("enqueue", eager, name="Ada")
    await face("enqueue", eager.using(priority=6), name="Bob", key="customer:8")
    await face("enqueue_many", [eager.task(name="Cid")])
    await face("enqueue", greet, name="Dot")

    assert connection.execute(STORED).fetchall() == [
        ("greet", {"name": "Ada"}, 5, "customer:7"),
        ("greet", {"name": "Bob"}, 6, "customer:8"),
        ("greet", {"name": "Cid"}, 5, "customer:7"),
        ("greet", {"name": "Dot"}, 0, None),
    ]


async def test_unknown_option_is_rejected_by_using(greet: Any) -> None:
    with pytest.raises(TypeError, match="prioritiy= is not an option of a task; did you mean 'priority'"):
        greet.using(prioritiy=5)


async def test_option_of_another_library_is_rejected_by_using_with_a_hint(greet: Any) -> None:
    with pytest.raises(TypeError, match="countdown= is not an option of a task; use after="):
        greet.using(countdown=5)


async def test_handler_given_by_name_accepts_one_payload(face: Face) -> None:
    with pytest.raises(TypeError, match="the payload must be one argument, got 2 in addition to 'greet'"):
        await face("enqueue", "greet", {"name": "Ada"}, 5)


async def test_connection_given_to_using_is_shared(face: Face, greet: Any, connection: Connection) -> None:
    async with face.transaction(commit=False) as own:
        await face("enqueue", greet.using(connection=own), name="Ada")

    assert connection.execute(STORED).fetchall() == []


async def test_result_of_enqueue_can_be_passed_to_get_and_wait(face: Face, greet: Any) -> None:
    stored = await face("enqueue", greet, name="Ada")
    await face("cancel", stored.id)

    assert (await face("get", stored)).id == stored.id
    assert (await face("wait", stored, timeout=10)).state == "cancelled"


def test_handler_enqueues_with_the_client_of_its_app(
    app: App, greet: Any, database: str, connection: Connection
) -> None:
    with Client(database, app=app):
        stored = greet.enqueue(name="Ada")
        greet.using(priority=5).enqueue("Bob")

    assert stored.id == 1
    assert connection.execute(STORED).fetchall() == [
        ("greet", {"name": "Ada"}, 0, None),
        ("greet", {"name": "Bob"}, 5, None),
    ]


async def test_handler_enqueues_with_the_async_client_of_its_app(
    app: App, greet: Any, database: str, connection: Connection
) -> None:
    async with AsyncClient(database, app=app):
        await greet.aenqueue(name="Ada")

    assert connection.execute(STORED).fetchall() == [("greet", {"name": "Ada"}, 0, None)]


def test_included_app_handler_enqueues_with_the_client_of_its_parent_app(
    app: App, greet: Any, database: str, connection: Connection
) -> None:
    whole = App("whole")
    whole.include(app)

    with Client(database, app=whole):
        greet.enqueue(name="Ada")

    assert connection.execute(STORED).fetchall() == [("greet", {"name": "Ada"}, 0, None)]


def test_handler_without_a_client_explains_what_to_create(greet: Any) -> None:
    with pytest.raises(
        ConfigError, match=r"this app has no Client: create one and keep a reference to it, Client\(app=app\)"
    ):
        greet.enqueue(name="Ada")
    with pytest.raises(ConfigError, match="this app has no AsyncClient"):
        asyncio.run(greet.aenqueue(name="Ada"))
