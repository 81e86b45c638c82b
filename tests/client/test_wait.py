from __future__ import annotations

import asyncio
import time
from itertools import islice
from typing import Any

import psycopg
import pytest

from rolecall import DatabaseUnavailable, TaskNotFound, TaskState, WaitTimeout
from rolecall.client.polling import pauses
from rolecall.db.run import run
from rolecall.model.outcomes import Completed
from rolecall.model.workers import WorkerInfo
from rolecall.sql import claims, workers
from tests.client.conftest import Face, Kind

Connection = psycopg.Connection[Any]


def do_one(connection: Connection, result: str) -> None:
    """Claim and complete one task, as a worker does."""
    info = WorkerInfo(name="w", roles=(), handlers=("add",), slots=1, host="here", pid=1, version="0")
    worker = run(connection, workers.register(info))
    (task,) = run(connection, claims.claim(worker, [], ["add"], 1))
    report = Completed(id=task.id, fence=task.fence, result_json=result)
    assert run(connection, claims.finish(worker, [report])) == {}


async def test_wait_returns_the_finished_task(face: Face, connection: Connection) -> None:
    stored = await face("enqueue", "add", {"a": 1})

    waiter = asyncio.create_task(face("wait", stored.id, timeout=40))
    await asyncio.to_thread(do_one, connection, '{"sum":1}')
    task = await waiter

    assert (task.state, task.result) == (TaskState.COMPLETED, {"sum": 1})


async def test_wait_ends_when_the_task_is_cancelled(face: Face) -> None:
    stored = await face("enqueue", "add", {"a": 1})
    await face("cancel", stored.id)

    assert (await face("wait", stored.id)).state is TaskState.CANCELLED


async def test_wait_times_out(face: Face) -> None:
    stored = await face("enqueue", "add", {"a": 1})
    begin = time.monotonic()

    with pytest.raises(WaitTimeout) as late:
        await face("wait", stored.id, timeout=0.3)

    assert 0.3 <= time.monotonic() - begin < 30
    assert (late.value.task_id, late.value.seconds) == (stored.id, 0.3)


async def test_missing_task_cannot_be_read_or_waited_for(face: Face) -> None:
    for verb in ("get", "wait"):
        with pytest.raises(TaskNotFound, match="no task 999"):
            await face(verb, 999)


async def test_missing_tasks_have_the_outcome_missing(face: Face) -> None:
    assert await face("cancel", 999) == {999: "missing"}
    assert await face("retry", [999]) == {999: "missing"}


async def test_counts_contain_role_and_state(face: Face) -> None:
    await face("enqueue", "add", {"a": 1})

    counts = await face("counts")

    assert ("sums", "pending", 1) in {(each.role, each.state, each.number) for each in counts}


async def test_unreachable_server_raises_database_unavailable(kind: Kind) -> None:
    face = Face(kind, "host=127.0.0.1 port=1 connect_timeout=1")

    try:
        with pytest.raises(DatabaseUnavailable):
            await face("counts")
    finally:
        await face("close")


async def test_open_connects_immediately_and_close_can_be_repeated(face: Face) -> None:
    assert await face("open") is face.client
    await face("close")
    await face("close")


def test_polling_pauses_grow_up_to_a_limit() -> None:
    looks = list(islice(pauses(), 20))

    assert looks[0] == 0.01
    assert looks == sorted(looks)
    assert looks[-1] == 0.25
