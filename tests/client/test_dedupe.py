"""Dedupe modes in the client, and invalid rules that Python rejects like SQL."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from rolecall import AsyncClient, Client, Dedupe, DuplicateTask, InvalidTask, NewTask, merge_fields, merge_function
from rolecall.db.run import run
from rolecall.model.dedupe import MergeRule
from rolecall.sql.statement import Statement, single
from tests.client.conftest import Face

Connection = psycopg.Connection[Any]

UNION = Dedupe(mode="merge", merge=merge_fields(ids="union"))
BAD: list[dict[str, Any]] = [
    {"mode": "ignore"},
    {"scope": "all"},
    {"mode": "replace", "scope": "open"},
    {"mode": "merge", "scope": "any", "window": 60},
    {"window": 60},
    {"scope": "any", "window": 0},
    {"scope": "any", "window": 5_000_000_000},
    {"mode": "error", "merge": {"fields": {"ids": "union"}}},
    {"mode": "merge", "merge": {"fields": {"ids": "unoin"}}},
]


def bag(*ids: int, dedupe: Dedupe | None = UNION) -> NewTask:
    return NewTask(handler="bag", payload={"ids": list(ids)}, dedupe_key="d", dedupe=dedupe)


@pytest.fixture(autouse=True)
def bags(connection: Connection) -> None:
    connection.execute("""select rolecall.declare('[{"name": "bag"}]')""")


async def test_payloads_are_merged(face: Face) -> None:
    stored = [await face("enqueue", bag(n)) for n in (1, 2, 1)]

    assert [answer.deduplicated for answer in stored] == [False, True, True]
    assert (await face("get", stored[0].id)).payload == {"ids": [1, 2]}


async def test_options_set_the_dedupe_mode(face: Face) -> None:
    first = await face("enqueue", "add", {"a": 1}, dedupe_key="d", after=60)

    again = await face("enqueue", "add", {"a": 2}, dedupe_key="d", dedupe=Dedupe(mode="replace"))

    assert (again.id, again.deduplicated) == (first.id, True)
    assert (await face("get", first.id)).payload["a"] == 2


async def test_duplicate_raises_an_error_that_names_the_existing_task(face: Face, connection: Connection) -> None:
    first = await face("enqueue", bag(1))

    with pytest.raises(DuplicateTask, match="task 1: task [0-9]+ already has the dedupe_key 'd'") as refused:
        await face("enqueue_many", [NewTask(handler="add", payload={"a": 1}), bag(2, dedupe=Dedupe(mode="error"))])

    assert refused.value.task_id == first.id
    assert connection.execute("select count(*) from rolecall.tasks").fetchall() == [(1,)]


async def test_first_of_two_equal_dedupe_keys_in_a_batch_is_new(face: Face) -> None:
    stood = [answer.deduplicated for answer in await face("enqueue_many", [bag(1), bag(2), bag(3)])]
    again = [answer.deduplicated for answer in await face("enqueue_many", [bag(4), bag(5)])]

    assert (stood, again) == ([False, True, True], [True, True])


async def test_dedupe_mode_without_a_dedupe_key_is_rejected(face: Face) -> None:
    with pytest.raises(InvalidTask, match="dedupe requires a dedupe_key"):
        await face("enqueue", NewTask(handler="bag", dedupe=UNION))


async def test_missing_merge_function_is_rejected(face: Face) -> None:
    with pytest.raises(InvalidTask, match="there is no function no.where"):
        await face("enqueue", bag(1, dedupe=Dedupe(mode="merge", merge=merge_function("no.where"))))


async def test_rolled_back_merge_leaves_no_trace(face: Face) -> None:
    first = await face("enqueue", bag(1))
    async with face.transaction(commit=False) as connection:
        await face("enqueue", bag(2), connection=connection)

    assert (await face("get", first.id)).payload == {"ids": [1]}


def test_fifty_concurrent_clients_merge_into_one_complete_task(database: str) -> None:
    with Client(database) as client, ThreadPoolExecutor(10) as threads:
        ids = {stored.id for stored in threads.map(lambda n: client.enqueue(bag(n)), range(50))}
        [task_id] = ids
        assert sorted(client.get(task_id).payload["ids"]) == list(range(50))


async def test_sync_and_async_clients_merge_into_one_task(database: str) -> None:
    with Client(database) as client:
        first = client.enqueue(bag(1))
        async with AsyncClient(database) as other:
            assert (await other.enqueue(bag(2))).id == first.id

        assert client.get(first.id).payload == {"ids": [1, 2]}


@pytest.mark.parametrize("words", BAD, ids=str)
def test_python_and_sql_reject_the_same_input_with_the_same_message(
    connection: Connection, words: dict[str, Any]
) -> None:
    with pytest.raises(InvalidTask) as in_python:
        Dedupe(**{**words, "merge": MergeRule(**words["merge"])} if "merge" in words else words)
    with pytest.raises(InvalidTask) as in_sql:
        through_sql(connection, {"role": "bag", "dedupe_key": "d", "dedupe": words})

    assert in_sql.value.problem.removeprefix("task 0: ") == in_python.value.problem


def through_sql(connection: Connection, item: dict[str, Any]) -> None:
    query = "select ids[1] from rolecall.enqueue_many(%s::jsonb)"
    run(connection, Statement(query=query, params=(json.dumps([item]),), read=single))
