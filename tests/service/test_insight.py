"""Operator queries about tasks, roles and workers."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from rolecall import NewTask, TaskState, UnknownRole
from rolecall.db.run import run_async
from rolecall.model.operator.insight import RoleCount
from rolecall.service.services import Services
from rolecall.sql import insight

ADD = NewTask(handler="add")
Connection = psycopg.AsyncConnection[Any]

REGISTER = "select rolecall.register_worker(%s, '{sums}', '{add}', 2, 'host', 1, '0')"


async def test_tasks_are_counted_by_role_and_state(services: Services) -> None:
    await services.tasks.enqueue_many([ADD, ADD])

    assert await services.insight.counts() == [RoleCount(role="sums", state="pending", number=2)]


async def test_role_capacity_is_planned_from_its_tasks_and_workers(services: Services) -> None:
    await services.tasks.enqueue(ADD)

    need = await services.capacity.plan("sums")

    assert (need.pending_tasks, need.active_workers) == (1, 0)
    assert need.workers_needed == {"for_1_hour": None, "for_4_hours": None, "for_8_hours": None}


async def test_unknown_role_is_rejected_and_a_similar_name_suggested(services: Services) -> None:
    with pytest.raises(UnknownRole, match="did you mean 'sums'"):
        await services.capacity.plan("sum")


async def test_declared_roles_are_listed(services: Services) -> None:
    [role] = await services.roles.list()

    assert role.name == "sums"
    assert role.paused_at is None


async def test_worker_is_active_for_a_minute_after_its_heartbeat(services: Services, aconnection: Connection) -> None:
    await aconnection.execute(REGISTER, ["early"])
    await aconnection.execute(REGISTER, ["late"])
    move = "update rolecall.workers set heartbeat_at = heartbeat_at - %s::interval where name = %s"
    await aconnection.execute(move, ["50 s", "early"])
    await aconnection.execute(move, ["61 s", "late"])

    assert [worker.name for worker in await services.workers.list()] == ["early"]
    assert {worker.name for worker in await services.workers.list(everyone=True)} == {"early", "late"}


async def test_workers_are_counted_by_the_handlers_they_serve(services: Services, aconnection: Connection) -> None:
    """A page with the numbers of a thousand workers must not read a row of each."""
    for name in ("a", "b", "c"):
        await aconnection.execute(REGISTER, [name])
    await aconnection.execute(REGISTER.replace("{add}", "{see}"), ["d"])

    groups = await run_async(aconnection, insight.alike_workers())

    assert sorted((group.handlers, group.number) for group in groups) == [(["add"], 3), (["see"], 1)]
    assert (await services.workers.coverage()).workers("sums", ["add", "see"]) == 4


async def test_tasks_of_a_dead_worker_are_rescued(services: Services, aconnection: Connection) -> None:
    stored = await services.tasks.enqueue(ADD)
    cursor = await aconnection.execute(REGISTER, ["dead"])
    [worker_id] = await cursor.fetchone() or [0]
    await aconnection.execute("select rolecall.claim(%s, '{}', '{add}', 1)", [worker_id])
    assert await services.maintenance.rescue() == {}

    await aconnection.execute("update rolecall.tasks set lease_until = lease_until - interval '1 hour'")
    await aconnection.execute("update rolecall.server_epoch set seen_at = seen_at - interval '1 hour'")

    assert await services.maintenance.rescue() == {stored.id: TaskState.PENDING}


async def test_prune_counts_deleted_records_until_none_is_left(services: Services, aconnection: Connection) -> None:
    await aconnection.execute(REGISTER, ["long gone"])
    await aconnection.execute("update rolecall.workers set heartbeat_at = heartbeat_at - interval '2 days'")

    assert (await services.maintenance.prune())["workers"] == 1
    assert await services.maintenance.prune() == {}
