"""Outcomes that a client sets without a worker."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from rolecall import InvalidTask, InvalidToken, NewTask, TaskNotFound, TaskNotTriggerable, TaskState, UnknownRole
from rolecall.sql.encoding import MAX_RESULT_BYTES
from tests.client.conftest import Face

ADD = NewTask(handler="add", payload={"a": 1})


async def add(face: Face, **options: Any) -> int:
    task_id: int = (await face("enqueue", "add", {"a": 1}, **options)).id
    return task_id


async def test_task_can_be_completed_with_a_result(face: Face) -> None:
    task_id = await add(face, after=60)

    assert await face("complete", task_id, {"sum": 1}) == "completed"

    task = await face("get", task_id)
    assert (task.state, task.result, task.worker_id) == (TaskState.COMPLETED, {"sum": 1}, None)
    assert await face("complete", task_id) == "finished"
    assert await face("complete", 4711) == "missing"


async def test_task_can_be_failed_permanently(face: Face) -> None:
    task_id = await add(face)

    assert await face("fail", task_id, "no\0longer wanted") == "failed"

    task = await face("get", task_id)
    assert (task.state, task.error) == (TaskState.FAILED, "no\ufffdlonger wanted")


async def test_next_tasks_are_stored_with_the_completion(face: Face) -> None:
    task_id = await add(face)

    await face("complete", task_id, continue_with=ADD, follow_ups=[ADD, ADD])

    assert (await face("get_chain", task_id)).length == 2
    assert len(await face("list_chains")) == 3


async def test_completion_can_share_the_callers_transaction(face: Face) -> None:
    task_id = await add(face)
    async with face.transaction(commit=False) as connection:
        await face("complete", task_id, connection=connection)

    assert (await face("get", task_id)).state is TaskState.PENDING


@pytest.mark.parametrize("result", [float("nan"), "x" * (MAX_RESULT_BYTES + 1), "\ud800"], ids=["nan", "long", "half"])
async def test_result_that_cannot_be_stored_is_rejected(face: Face, result: object) -> None:
    task_id = await add(face)

    with pytest.raises(InvalidTask, match="result"):
        await face("complete", task_id, result)

    assert (await face("get", task_id)).state is TaskState.PENDING


async def test_next_task_of_an_unknown_role_is_rejected(face: Face) -> None:
    task_id = await add(face)

    with pytest.raises(UnknownRole):
        await face("complete", task_id, continue_with=NewTask(role="nobody"))


async def test_token_completes_its_task_once(face: Face) -> None:
    task_id = await add(face, after=7200)
    token = await face("issue_token", task_id, ttl=7200)

    assert await face("complete_by_token", token, {"approved": True}) == task_id

    assert (await face("get", task_id)).result == {"approved": True}
    with pytest.raises(InvalidToken):
        await face("complete_by_token", token)


async def test_token_can_fail_its_task(face: Face) -> None:
    task_id = await add(face)

    assert await face("fail_by_token", await face("issue_token", task_id), "declined") == task_id

    assert (await face("get", task_id)).error == "declined"


@pytest.mark.parametrize("token", ["", "rct_0", "\0", "\ud800"])
async def test_invalid_token_finishes_no_task(face: Face, token: str) -> None:
    with pytest.raises((InvalidToken, InvalidTask)):
        await face("complete_by_token", token)


async def test_token_is_issued_only_for_an_open_task_and_a_positive_lifetime(face: Face) -> None:
    with pytest.raises(TaskNotFound) as missing:
        await face("issue_token", 4711)

    assert missing.value.task_id == 4711
    with pytest.raises(InvalidTask, match="time to live"):
        await face("issue_token", await add(face), ttl=0)


async def test_tasks_are_triggered_in_the_given_order(face: Face) -> None:
    ids = [await add(face, after=60) for _ in range(3)]

    assert list(await face("trigger", ids[::-1])) == ids[::-1]

    assert {(await face("get", task_id)).status for task_id in ids} == {"ready"}


async def test_trigger_is_all_or_nothing(face: Face, connection: psycopg.Connection[Any]) -> None:
    """The errors are typed."""
    later, done = await add(face, after=60), await add(face)
    await face("complete", done)

    with pytest.raises(TaskNotTriggerable, match="completed") as refusal:
        await face("trigger", [later, done])
    with pytest.raises(TaskNotFound) as missing:
        await face("trigger", [later, 4711])

    assert (refusal.value.task_id, missing.value.task_id) == (done, 4711)
    assert (await face("get", later)).status == "scheduled"
