"""The scaling service: bounds, selection of pods, and audit entries."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from rolecall.config import Settings
from rolecall.model.audit import Actor, AuditFilter
from rolecall.model.errors import ClusterRefused, ReplicasOutOfBounds
from rolecall.model.operator.scaling import ScalingWay
from rolecall.service.database import OneConnection
from rolecall.service.services import Services
from rolecall.sql import roles
from tests.scaling.cluster import Cluster

Connection = psycopg.AsyncConnection[Any]


async def over(connection: Connection, cluster: Cluster) -> Services:
    database = OneConnection(connection, Actor(name="ada", via="cli"))
    await database.run(roles.declare([{"name": "sums"}], []))
    return Services(database, Settings(scaling=cluster.settings))


@pytest.fixture
async def services(aconnection: Connection, cluster: Cluster) -> Services:
    return await over(aconnection, cluster)


@pytest.fixture
async def deployed_services(aconnection: Connection, deployed: Cluster) -> Services:
    return await over(aconnection, deployed)


async def add_pod(connection: Connection, name: str, running: int = 0) -> int:
    """Register a worker of a pod, with this many running tasks."""
    register = "select rolecall.register_worker(%s, '{}', '{sums}', 9, 'host', 1, '0', %s)"
    cursor = await connection.execute(register, [name, name])
    [worker_id] = await cursor.fetchone() or [0]
    for _ in range(running):
        await connection.execute("select rolecall.enqueue('sums', '{}')")
        await connection.execute("select * from rolecall.claim(%s, '{}', '{sums}', 1)", [worker_id])
    return int(worker_id)


def deployed_pod(letter: str) -> str:
    """Return a pod name as a Deployment creates it: the set's name, the hash of the template, and five letters."""
    return f"rolecall-worker-7d4b9c-{letter * 5}"


async def commands_by_pod(services: Services) -> dict[str | None, str]:
    """Return the pods whose workers have received a command."""
    return {worker.pod: worker.command for worker in await services.workers.list() if worker.command}


async def test_scaling_up_decommissions_no_worker(
    services: Services, cluster: Cluster, aconnection: Connection
) -> None:
    await add_pod(aconnection, "rolecall-worker-3")

    scaled = await services.scaling.scale(6)

    assert cluster.desired == 6
    assert (scaled.previous, scaled.desired, scaled.way) == (4, 6, ScalingWay.SCALE)
    assert (scaled.leaving, scaled.decommissioned) == ((), ())


async def test_highest_ordinals_of_a_stateful_set_leave_first(
    services: Services, cluster: Cluster, aconnection: Connection
) -> None:
    workers = [await add_pod(aconnection, f"rolecall-worker-{ordinal}", running=ordinal) for ordinal in range(4)]

    scaled = await services.scaling.scale(2)

    assert scaled.leaving == ["rolecall-worker-3", "rolecall-worker-2"]
    assert sorted(scaled.decommissioned) == workers[2:]
    assert await commands_by_pod(services) == {"rolecall-worker-2": "decommission", "rolecall-worker-3": "decommission"}
    assert cluster.desired == 2


async def test_deployment_pods_with_the_fewest_running_tasks_leave_first(
    deployed_services: Services, deployed: Cluster, aconnection: Connection
) -> None:
    names = [deployed_pod(letter) for letter in "abcd"]
    deployed.add_pods(*names)
    workers = [await add_pod(aconnection, name, running) for name, running in zip(names, (2, 0, 3, 1), strict=True)]

    scaled = await deployed_services.scaling.scale(2)

    assert scaled.leaving == [deployed_pod("b"), deployed_pod("d")]
    assert sorted(scaled.decommissioned) == [workers[1], workers[3]]
    assert deployed.costs() == dict(zip(names, ("2", "-1", "3", "-1"), strict=True))
    assert deployed.calls[-1] == "patch deployments/scale"


async def test_pods_without_a_registered_worker_leave_first(
    deployed_services: Services, deployed: Cluster, aconnection: Connection
) -> None:
    deployed.add_pods(deployed_pod("a"), deployed_pod("b"))
    await add_pod(aconnection, deployed_pod("a"), running=1)
    await add_pod(aconnection, deployed_pod("b"))

    assert (await deployed_services.scaling.scale(2)).leaving == []


async def test_pods_of_a_set_with_a_longer_name_are_ignored(
    deployed_services: Services, deployed: Cluster, aconnection: Connection
) -> None:
    others = ["rolecall-worker-resync-7d4b9c-aaaaa", "rolecall-worker-0", "rolecall-workers-7d4b9c-aaaaa"]
    deployed.add_pods(*others)
    for name in others:
        await add_pod(aconnection, name)

    assert (await deployed_services.scaling.scale(1)).leaving == []
    assert deployed.costs() == {}


async def test_scaling_without_permission_to_mark_pods_reports_it_and_continues(
    deployed_services: Services, deployed: Cluster, aconnection: Connection
) -> None:
    await add_pod(aconnection, deployed_pod("a"))
    deployed.deny("patch pods")

    scaled = await deployed_services.scaling.scale(2)

    assert "does not let us patch pods" in (scaled.unmarked or "")
    assert deployed.desired == 2


async def test_change_is_recorded_with_its_actor(services: Services) -> None:
    await services.scaling.scale(3)

    [event] = await services.audit.list(AuditFilter(action="scaling.scale"))
    assert (event.actor, event.action) == ("ada", "scaling.scale")
    assert (event.detail["name"], event.detail["previous"], event.detail["desired"]) == ("rolecall-worker", 4, 3)
    assert event.outcome == {"leaving": ["rolecall-worker-3"]}


async def test_number_rejected_by_the_cluster_decommissions_no_worker(
    services: Services, cluster: Cluster, aconnection: Connection
) -> None:
    await add_pod(aconnection, "rolecall-worker-3")
    cluster.deny("patch statefulsets/scale", "patch statefulsets")

    with pytest.raises(ClusterRefused):
        await services.scaling.scale(2)

    assert await services.audit.list(AuditFilter()) == []
    assert await commands_by_pod(services) == {}
    assert cluster.desired == 4


@pytest.mark.parametrize("replicas", [-1, 0, 9])
async def test_number_out_of_range_is_rejected_before_the_cluster_is_called(
    services: Services, cluster: Cluster, replicas: int
) -> None:
    with pytest.raises(ReplicasOutOfBounds, match=f"the number of replicas must be 1 to 8, got {replicas}"):
        await services.scaling.scale(replicas)

    assert cluster.calls == []
