"""Payloads that are too large are rejected before they are sent, as the database would reject them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from rolecall import InvalidTask, NewTask
from rolecall.db.run import run, run_all
from rolecall.model.outcomes import Completed
from rolecall.model.tasks import NextTasks
from rolecall.sql import chains, claims, enqueue, outside
from rolecall.sql.payload_sizes import CHECKED_FROM
from rolecall.sql.statement import Statement
from tests.client.conftest import Face, counted

LIMIT = 1024 * 1024
# Text, escapes, numbers that the database writes out, and nesting; each with many separators.
LARGE = [
    {"text": "x" * LIMIT},
    {"text": "ü" * (LIMIT // 2)},
    {"text": '\n"\\\x01' * (LIMIT // 4)},
    {"numbers": [1e16, -0.0, 1.5e-7, 0.1] * (LIMIT // 16)},
    {"rows": [{"a": n, "b": None} for n in range(LIMIT // 16)]},
]


@pytest.mark.parametrize("payload", LARGE, ids=["text", "umlauts", "escapes", "numbers", "rows"])
async def test_client_rejects_a_large_payload_with_the_message_of_the_database(
    face: Face, connection: psycopg.Connection[Any], payload: dict[str, Any]
) -> None:
    task = NewTask(role="sums", payload=payload)
    await face("open")

    with pytest.raises(InvalidTask) as in_client:
        await face("enqueue", task)
    with pytest.raises(InvalidTask) as in_database:
        run(connection, enqueue.enqueue_many([task]))

    assert str(in_client.value) == str(in_database.value)
    assert in_client.value.index == 0


async def test_rejected_payload_is_not_sent(face: Face) -> None:
    await face("open")
    async with face.transaction(commit=False) as connection:
        with pytest.raises(InvalidTask):
            await face("enqueue", NewTask(role="sums", payload={"text": "x" * LIMIT}), connection=connection)
        # The database would have aborted the transaction.
        stored = await face("enqueue", "add", {"a": 1}, connection=connection)

    assert stored.id


async def test_payload_at_the_limit_is_stored(face: Face) -> None:
    payload = {"text": "x" * (LIMIT - len('{"text": ""}'))}

    stored = await face("enqueue", NewTask(role="sums", payload=payload))

    assert (await face("get", stored.id)).payload == payload


async def test_limit_of_another_apps_role_applies(face: Face, connection: psycopg.Connection[Any]) -> None:
    for name, most in (("narrow", CHECKED_FROM), ("wide", 2 * LIMIT)):
        role = {"name": name, "max_payload_bytes": most}
        connection.execute("select rolecall.declare(%s)", (json.dumps([role]),))
    payload = {"text": "x" * LIMIT}

    await face("enqueue", NewTask(role="wide", payload=payload))
    with pytest.raises(
        InvalidTask, match=f"task 1: the payload has {LIMIT + 12} bytes, the role allows {CHECKED_FROM}"
    ):
        await face("enqueue_many", [NewTask(role="wide", payload=payload), NewTask(role="narrow", payload=payload)])


@pytest.fixture
def open_connection(connection: psycopg.Connection[Any]) -> Iterator[psycopg.Connection[Any]]:
    """A connection in a transaction, to a database with the role `sums`."""
    connection.execute("select rolecall.declare(%s)", (json.dumps([{"name": "sums"}]),))
    with connection.transaction():
        yield connection


def _task(size: int) -> NewTask[Any]:
    return NewTask(role="sums", payload={"text": "x" * size})


def test_sizes_of_a_batch_are_checked_before_its_first_chunk_is_sent(
    open_connection: psycopg.Connection[Any],
) -> None:
    chunks = enqueue.enqueue_chunks([_task(1), _task(1), _task(1), _task(LIMIT)], size=2)

    with counted(open_connection) as stored, pytest.raises(InvalidTask, match="task 3: the payload has 1048588 bytes"):
        run_all(open_connection, chunks)

    assert stored == [0]


NEXT = {
    "children": NextTasks(children=[_task(LIMIT)]),
    "follow-ups": NextTasks(follow_ups=[_task(LIMIT)]),
    "continuation": NextTasks(continuation=_task(LIMIT)),
}
DOORS: dict[str, Callable[[NextTasks], Statement[Any]]] = {
    "outcome": lambda tasks: claims.finish_free(1, [Completed(id=1, fence=1, next_tasks=tasks)]),
    "own transaction": lambda tasks: claims.finish_here(1, [Completed(id=1, fence=1, next_tasks=tasks)]),
    "from outside": lambda tasks: outside.complete(1, None, tasks),
    "chain": lambda tasks: chains.complete(1, None, tasks),
}


@pytest.mark.parametrize("next_tasks", NEXT.values(), ids=NEXT)
@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_large_payload_of_a_next_task_is_not_sent(
    open_connection: psycopg.Connection[Any], door: Callable[[NextTasks], Statement[Any]], next_tasks: NextTasks
) -> None:
    with pytest.raises(InvalidTask, match="the payload has 1048588 bytes, the role allows 1048576"):
        run(open_connection, door(next_tasks))

    open_connection.execute("select 1")  # the database would have aborted the transaction


def test_small_payloads_of_a_large_batch_are_not_checked() -> None:
    assert enqueue.enqueue_many([_task(CHECKED_FROM // 2)] * 8).check is None
