"""Every change leaves an audit entry with its actor and outcome."""

from __future__ import annotations

import pytest

from rolecall.model.audit import AuditFilter, StoredAuditEvent
from rolecall.model.errors import UnknownRole
from rolecall.model.tasks import NewTask
from rolecall.service.services import Services


async def last(services: Services) -> StoredAuditEvent:
    return (await services.audit.list(AuditFilter(limit=1)))[0]


async def test_audit_entry_contains_actor_and_outcome(services: Services) -> None:
    task = await services.tasks.enqueue(NewTask(handler="add"))
    await services.tasks.cancel([task.id])

    event = await last(services)

    assert (event.actor, event.via, event.action) == ("ada", "cli", "tasks.cancel")
    assert (event.detail, event.outcome) == ({"ids": [task.id]}, {str(task.id): "cancelled"})


async def test_audit_entry_of_a_task_names_who_enqueued_it(services: Services) -> None:
    task = await services.tasks.enqueue(NewTask(handler="add"))

    event = await last(services)

    assert event.action == "tasks.enqueue"
    assert event.outcome[0]["id"] == task.id


async def test_rejected_change_leaves_no_audit_entry(services: Services) -> None:
    with pytest.raises(UnknownRole):
        await services.tasks.enqueue(NewTask(handler="ad"))

    assert await services.audit.list(AuditFilter()) == []


async def test_long_outcome_is_recorded_as_its_length(services: Services) -> None:
    await services.tasks.enqueue_many([NewTask(handler="add")] * 500)

    assert (await last(services)).outcome == {"number": 500}


async def test_long_change_records_only_its_short_parts(services: Services) -> None:
    tasks = await services.tasks.enqueue_many([NewTask(handler="add")] * 800)
    await services.tasks.delete([task.id for task in tasks])

    event = await last(services)

    assert event.detail == {
        "ids": {"number": 800},
        "was": [{"role": "sums", "handler": "add", "state": "pending", "tasks": 800}],
    }


async def test_deletion_records_role_handler_and_state(services: Services) -> None:
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


async def test_deletion_of_a_chain_records_all_its_tasks(services: Services) -> None:
    task = await services.tasks.enqueue(NewTask(handler="add"))
    await services.tasks.complete(task.id)
    await services.chains.delete([task.id])

    event = await last(services)

    assert (event.action, event.detail["was"]) == (
        "chains.delete",
        [{"role": "sums", "handler": "add", "state": "completed", "tasks": 1}],
    )


async def test_read_requests_leave_no_audit_entry(services: Services) -> None:
    await services.insight.counts()

    assert await services.audit.list(AuditFilter()) == []


async def test_log_is_paginated_newest_first(services: Services) -> None:
    for _ in range(3):
        await services.maintenance.rescue()
    newest, *_ = await services.audit.list(AuditFilter(limit=1))

    older = await services.audit.list(AuditFilter(before=newest.id, action="maintenance.rescue"))

    assert [event.id for event in older] == [newest.id - 1, newest.id - 2]
