"""Every change leaves an audit entry with its actor and outcome."""

from __future__ import annotations

import pytest

from rolecall.model.audit import AuditFilter, StoredAuditEvent
from rolecall.model.errors import UnknownRole
from rolecall.model.tasks import NewTask
from rolecall.service.services import Services


async def last(services: Services) -> StoredAuditEvent:
    return (await services.audit.list(AuditFilter(limit=1)))[0]


async def test_a_change_names_who_asked_and_what_came_of_it(services: Services) -> None:
    task = await services.tasks.enqueue(NewTask(handler="add"))
    await services.tasks.cancel([task.id])

    event = await last(services)

    assert (event.actor, event.via, event.action) == ("ada", "cli", "tasks.cancel")
    assert (event.detail, event.outcome) == ({"ids": [task.id]}, {str(task.id): "cancelled"})


async def test_a_task_tells_who_stored_it(services: Services) -> None:
    task = await services.tasks.enqueue(NewTask(handler="add"))

    event = await last(services)

    assert event.action == "tasks.enqueue"
    assert event.outcome[0]["id"] == task.id


async def test_a_change_that_is_refused_leaves_no_row(services: Services) -> None:
    with pytest.raises(UnknownRole):
        await services.tasks.enqueue(NewTask(handler="ad"))

    assert await services.audit.list(AuditFilter()) == []


async def test_a_long_answer_is_told_by_its_length(services: Services) -> None:
    await services.tasks.enqueue_many([NewTask(handler="add")] * 500)

    assert (await last(services)).outcome == {"number": 500}


async def test_of_a_long_change_the_short_parts_are_told(services: Services) -> None:
    tasks = await services.tasks.enqueue_many([NewTask(handler="add")] * 800)
    await services.tasks.delete([task.id for task in tasks])

    event = await last(services)

    assert event.detail == {
        "ids": {"number": 800},
        "was": [{"role": "sums", "handler": "add", "state": "pending", "tasks": 800}],
    }


async def test_what_was_deleted_stands_there_by_role_handler_and_state(services: Services) -> None:
    first, second, third = [task.id for task in await services.tasks.enqueue_many([NewTask(handler="add")] * 3)]
    await services.tasks.cancel([first])
    await services.tasks.delete([first, second, 10**9])
    several = await last(services)
    await services.tasks.delete_one(third)
    one = await last(services)

    assert several.detail["was"] == [
        {"role": "sums", "handler": "add", "state": "cancelled", "tasks": 1},
        {"role": "sums", "handler": "add", "state": "pending", "tasks": 1},
    ]
    assert one.detail == {
        "id": third,
        "was": [{"role": "sums", "handler": "add", "state": "pending", "tasks": 1}],
    }


async def test_of_a_chain_that_was_deleted_all_its_tasks_are_told(services: Services) -> None:
    task = await services.tasks.enqueue(NewTask(handler="add"))
    await services.tasks.complete(task.id)
    await services.chains.delete([task.id])

    event = await last(services)

    assert (event.action, event.detail["was"]) == (
        "chains.delete",
        [{"role": "sums", "handler": "add", "state": "completed", "tasks": 1}],
    )


async def test_reading_leaves_no_row(services: Services) -> None:
    await services.insight.counts()

    assert await services.audit.list(AuditFilter()) == []


async def test_the_log_is_paged_from_the_newest_on(services: Services) -> None:
    for _ in range(3):
        await services.maintenance.rescue()
    newest, *_ = await services.audit.list(AuditFilter(limit=1))

    older = await services.audit.list(AuditFilter(before=newest.id, action="maintenance.rescue"))

    assert [event.id for event in older] == [newest.id - 1, newest.id - 2]
