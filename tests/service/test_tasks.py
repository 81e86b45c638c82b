"""Operator actions on tasks."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest

from rolecall import ConfigError, InvalidTask, NewTask, TaskNotFound, TaskState, UnknownRole, WaitTimeout
from rolecall.model.operator.insight import TaskFilter
from rolecall.service.arguments import STATUSES
from rolecall.service.services import Services
from rolecall.service.tasks import BATCH

ADD = NewTask(handler="add", payload={"a": 1, "b": 2})


async def test_batch_is_stored_in_order(services: Services) -> None:
    stored = await services.tasks.enqueue_many([ADD.options(priority=number) for number in range(5)])

    listed = (await services.tasks.list(TaskFilter())).items
    assert [task.id for task in listed] == [task.id for task in stored][::-1]
    assert [task.priority for task in listed] == [4, 3, 2, 1, 0]


async def test_batch_with_one_invalid_task_stores_nothing(services: Services) -> None:
    with pytest.raises(InvalidTask):
        await services.tasks.enqueue_many([ADD, ADD.options(priority=1_000)])

    assert (await services.tasks.list(TaskFilter())).items == []


@pytest.mark.parametrize(
    ("task", "close"),
    [
        (NewTask(handler="ad"), "'add'"),
        (NewTask(role="sum"), "'sums'"),
        (NewTask(handler="add", role="summs"), "'sums'"),
    ],
)
async def test_unknown_role_suggests_a_similar_name(services: Services, task: NewTask, close: str) -> None:
    with pytest.raises(UnknownRole, match=f"did you mean {close}"):
        await services.tasks.enqueue(task)


async def test_unknown_role_without_a_similar_name_suggests_nothing(services: Services) -> None:
    with pytest.raises(UnknownRole) as raised:
        await services.tasks.enqueue(NewTask(role="zebra"))

    assert "did you mean" not in str(raised.value)


async def test_pages_have_no_gap_or_overlap(services: Services) -> None:
    stored = await services.tasks.enqueue_many([ADD] * 5)

    page = await services.tasks.list(TaskFilter(limit=2))
    seen = [task.id for task in page.items]
    while page.next_cursor:
        page = await services.tasks.list(TaskFilter(limit=2, cursor=page.next_cursor))
        seen += [task.id for task in page.items]

    assert seen == sorted((task.id for task in stored), reverse=True)


@pytest.mark.parametrize("limit", [0, -1, 1_001])
async def test_invalid_page_size_is_rejected(services: Services, limit: int) -> None:
    with pytest.raises(ConfigError):
        await services.tasks.list(TaskFilter(limit=limit))


async def test_unknown_state_is_rejected(services: Services) -> None:
    with pytest.raises(ConfigError):
        await services.tasks.list(TaskFilter(state="lost"))


@pytest.mark.parametrize("status", STATUSES)
async def test_every_known_status_can_be_filtered(services: Services, status: str) -> None:
    assert (await services.tasks.list(TaskFilter(state=status))).items == []


async def test_task_is_shown_with_its_history(services: Services) -> None:
    stored = await services.tasks.enqueue(ADD)

    history = await services.tasks.show(stored.id)

    assert history.task.payload == {"a": 1, "b": 2}
    assert [entry.kind for entry in history.timeline] == ["created"]


async def test_missing_task_is_not_found(services: Services) -> None:
    with pytest.raises(TaskNotFound):
        await services.tasks.show(4711)


async def test_ids_beyond_one_batch_are_all_answered_in_order(services: Services) -> None:
    stored = await services.tasks.enqueue_many([ADD] * (BATCH + 1))
    ids = [task.id for task in stored]

    outcomes = await services.tasks.cancel([*ids, ids[0], 10**9])

    assert list(outcomes) == [*ids, 10**9]
    assert set(outcomes.values()) == {"cancelled", "missing"}


async def test_cancelled_task_can_be_retried(services: Services) -> None:
    stored = await services.tasks.enqueue(ADD)
    await services.tasks.cancel([stored.id])

    assert await services.tasks.retry([stored.id]) == {stored.id: "pending"}
    assert (await services.tasks.get(stored.id)).state is TaskState.PENDING


async def test_wait_ends_when_the_task_finishes(services: Services, database: str) -> None:
    stored = await services.tasks.enqueue(ADD)
    waiting = asyncio.create_task(services.tasks.wait(stored.id, 20))

    with psycopg.connect(database, autocommit=True) as other:
        other.execute("select rolecall.cancel(%s)", [[stored.id]])

    assert (await waiting).state is TaskState.CANCELLED


async def test_wait_times_out(services: Services) -> None:
    stored = await services.tasks.enqueue(ADD)

    with pytest.raises(WaitTimeout):
        await services.tasks.wait(stored.id, 0.02)


async def test_python_client_and_service_reject_the_same_input(services: Services) -> None:
    strange: list[dict[str, Any]] = [
        {"payload": {"x": float("nan")}},
        {"payload": {"x": "\0"}},
        {"payload": [1]},
        {"priority": 101},
        {"after": 9e9},
        {"key": ""},
        {"max_attempts": -1},
    ]
    for changes in strange:
        with pytest.raises(InvalidTask):
            await services.tasks.enqueue(ADD.options(**changes))
    assert (await services.tasks.list(TaskFilter())).items == []
