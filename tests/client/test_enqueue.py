from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from rolecall import App, InvalidPayload, InvalidTask, NewTask, TaskState, UnknownRole, linear
from tests.client.conftest import Face, Kind, counted

Connection = psycopg.Connection[Any]


async def test_enqueue_accepts_a_definition_a_name_and_a_new_task(face: Face, app: App) -> None:
    add = app.handlers["add"]

    stored = [
        await face("enqueue", add, {"a": 1}),
        await face("enqueue", "add", {"a": 1}),
        await face("enqueue", add.task(a=1)),
    ]

    tasks = [await face("get", each.id) for each in stored]
    assert {(task.handler, task.role, task.payload["a"]) for task in tasks} == {("add", "sums", 1)}


async def test_opened_client_has_declared_its_app(face: Face, connection: Connection) -> None:
    await face("open")

    assert connection.execute("select name from rolecall.handlers").fetchall() == [("add",)]


async def test_all_given_options_are_stored(face: Face) -> None:
    moment = datetime.now(UTC) + timedelta(hours=1)

    stored = await face(
        "enqueue", "add", {"a": 1}, priority=7, scheduled_for=moment, key="k", dedupe_key="d",
        max_attempts=2, retry=linear(),
    )  # fmt: skip
    task = await face("get", stored.id)

    assert (task.priority, task.scheduled_for, task.key, task.max_attempts) == (7, moment, "k", 2)
    assert task.dedupe_key is not None
    assert (task.state, task.status) == (TaskState.PENDING, "scheduled")


@pytest.mark.parametrize("expires", [90, timedelta(seconds=90)], ids=str)
async def test_expiry_duration_counts_from_the_due_time(face: Face, expires: Any) -> None:
    task = await face("get", (await face("enqueue", "add", {"a": 1}, after=60, expires=expires)).id)

    assert task.expires_at == task.scheduled_for + timedelta(seconds=90)


async def test_expiry_can_be_an_absolute_time(face: Face) -> None:
    moment = datetime.now(UTC) + timedelta(hours=1)

    assert (await face("get", (await face("enqueue", "add", {"a": 1}, expires=moment)).id)).expires_at == moment


@pytest.mark.parametrize(
    ("expires", "says"),
    [
        (datetime(2030, 1, 1), "expires 2030-01-01T00:00:00 has no time zone"),  # noqa: DTZ001 - that is the mistake
        (0, "expires is 0 s, allowed are 0.001 to 4e9"),
        (math.nan, "nan"),
    ],
    ids=str,
)
async def test_invalid_expiry_is_rejected(face: Face, expires: Any, says: str) -> None:
    with pytest.raises(InvalidTask, match=says):
        await face("enqueue", "add", {"a": 1}, expires=expires)


async def test_options_of_the_call_override_those_of_the_new_task(face: Face) -> None:
    task = NewTask(handler="add", payload={"a": 1}, priority=1, key="k")

    stored = await face("get", (await face("enqueue", task, priority=9)).id)

    assert (stored.priority, stored.key) == (9, "k")


async def test_duplicate_returns_the_existing_task(face: Face) -> None:
    first = await face("enqueue", "add", {"a": 1}, dedupe_key="d")
    second = await face("enqueue", "add", {"a": 2}, dedupe_key="d")

    assert (first.deduplicated, second.deduplicated) == (False, True)
    assert first.id == second.id


async def test_responses_have_the_order_of_the_batch(face: Face) -> None:
    batch = [NewTask(handler="add", payload={"a": n}) for n in range(50)]

    stored = await face("enqueue_many", batch)

    payloads = [(await face("get", each.id)).payload["a"] for each in stored[::7]]
    assert payloads == list(range(50))[::7]


async def test_empty_batch_stores_nothing(face: Face, connection: Connection) -> None:
    with counted(connection) as grown:
        assert await face("enqueue_many", []) == []
    assert grown == [0]


async def test_batch_of_many_chunks_is_stored_completely(face: Face, connection: Connection) -> None:
    with counted(connection) as grown:
        stored = await face("enqueue_many", (NewTask(handler="add", payload={"a": n}) for n in range(45_000)))

    assert grown == [45_000]
    assert len({each.id for each in stored}) == 45_000


async def test_batch_rejected_late_by_the_database_stores_nothing(face: Face, connection: Connection) -> None:
    batch = [NewTask(handler="add", payload={"a": n}) for n in range(20_000)]

    with counted(connection) as grown, pytest.raises(InvalidTask, match="priority"):
        await face("enqueue_many", [*batch, NewTask(handler="add", priority=1_000)])
    assert grown == [0]


async def test_payload_is_validated_against_the_named_handler(face: Face) -> None:
    for what in ("add", face.client._app.handlers["add"]):
        with pytest.raises(InvalidPayload):
            await face("enqueue", what, {"a": "one"})


@pytest.mark.parametrize("payload", [[1], "text", 7, {1: 2}, {"a": math.nan}])
async def test_payload_other_than_a_json_object_is_an_invalid_task(kind: Kind, database: str, payload: Any) -> None:
    face = Face(kind, database)

    with pytest.raises(InvalidTask):
        await face("enqueue", "anything", payload)


async def test_new_task_with_a_second_payload_is_rejected(face: Face) -> None:
    with pytest.raises(InvalidTask, match="already has a payload"):
        await face("enqueue", NewTask(handler="add", payload={"a": 1}), {"a": 2})


async def test_unknown_role_is_rejected(face: Face) -> None:
    with pytest.raises(UnknownRole, match="nowhere"):
        await face("enqueue", "nowhere")


async def test_app_is_declared_before_the_first_task(face: Face, connection: Connection) -> None:
    assert connection.execute("select 1 from rolecall.handlers").fetchall() == []

    await face("enqueue", "add", {"a": 1})

    stored = connection.execute("select name, role, signature is not null from rolecall.handlers")
    assert stored.fetchall() == [("add", "sums", True)]


async def test_app_is_declared_once_per_client(face: Face, connection: Connection) -> None:
    await face("enqueue", "add", {"a": 1})
    connection.execute("update rolecall.handlers set description = 'edited by a person'")

    await face("enqueue", "add", {"a": 1})

    stored = connection.execute("select description from rolecall.handlers")
    assert stored.fetchall() == [("edited by a person",)]
