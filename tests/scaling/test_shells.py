"""Scaling over HTTP and from the command line."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx2
import psycopg
import pytest

from rolecall import App
from rolecall.config import ScalingSettings, Settings
from tests.scaling.cluster import NAMESPACE, Cluster
from tests.web.doors import unguarded


@pytest.fixture
async def http(database: str, cluster: Cluster) -> AsyncIterator[httpx2.AsyncClient]:
    async for client in client_of(database, cluster.settings):
        yield client


@pytest.fixture
async def http_without_cluster(database: str) -> AsyncIterator[httpx2.AsyncClient]:
    async for client in client_of(database, ScalingSettings()):
        yield client


async def client_of(database: str, scaling: ScalingSettings) -> AsyncIterator[httpx2.AsyncClient]:
    application = unguarded(database, App("test"), Settings(scaling=scaling))
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=application), base_url="http://test") as client,
    ):
        yield client


def declare(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("""select rolecall.declare('[{"name": "sums"}]', '[]')""")
        connection.execute("select rolecall.enqueue('sums', '{}')")


async def test_replicas_are_shown(http: httpx2.AsyncClient) -> None:
    response = await http.get("/api/workers/k8s/replicas")

    assert response.status_code == 200
    assert response.json() == {
        "kind": "StatefulSet",
        "namespace": NAMESPACE,
        "name": "rolecall-worker",
        "current": 4,
        "desired": 4,
        "ready": 3,
        "least": 1,
        "most": 8,
    }


async def test_replicas_can_be_changed(http: httpx2.AsyncClient, cluster: Cluster) -> None:
    response = await http.post("/api/workers/k8s/scale", json={"replicas": 3})

    assert response.status_code == 200
    assert response.json() == {
        "previous": 4,
        "desired": 3,
        "way": "scale",
        "leaving": ["rolecall-worker-3"],
        "decommissioned": [],
        "unmarked": None,
    }
    assert cluster.desired == 3


@pytest.mark.parametrize(
    "body", [{}, {"replicas": True}, {"replicas": "3"}, {"replicas": 2.5}, {"replicas": 2, "n": 1}, {"replicas": 99}]
)
async def test_invalid_or_out_of_range_number_is_rejected(
    http: httpx2.AsyncClient, cluster: Cluster, body: dict[str, Any]
) -> None:
    response = await http.post("/api/workers/k8s/scale", json=body)

    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"
    assert cluster.desired == 4


async def test_missing_permission_is_named_in_the_response(http: httpx2.AsyncClient, cluster: Cluster) -> None:
    cluster.deny("patch statefulsets/scale", "patch statefulsets")

    response = await http.post("/api/workers/k8s/scale", json={"replicas": 2})

    assert response.status_code == 403
    assert response.json()["type"] == "urn:rolecall:cluster-refused"
    assert "patch statefulsets/scale" in response.json()["detail"]


async def test_missing_workload_returns_not_found(http: httpx2.AsyncClient, cluster: Cluster) -> None:
    cluster.forget_the_set()

    assert (await http.get("/api/workers/k8s/replicas")).status_code == 404
    assert (await http.post("/api/workers/k8s/scale", json={"replicas": 2})).status_code == 404


async def test_failing_cluster_returns_unavailable(http: httpx2.AsyncClient, cluster: Cluster) -> None:
    cluster.answer(500, "out of order")

    assert (await http.get("/api/workers/k8s/replicas")).status_code == 503


async def test_response_without_a_cluster_contains_the_reason(http_without_cluster: httpx2.AsyncClient) -> None:
    response = await http_without_cluster.post("/api/workers/k8s/scale", json={"replicas": 2})

    assert response.status_code == 503
    assert "KUBECONFIG is not set" in response.json()["detail"]


async def test_autoscaler_can_read_its_number(http_without_cluster: httpx2.AsyncClient, database: str) -> None:
    declare(database)

    assert (await http_without_cluster.get("/api/workers/k8s/target/sums")).json() == {"role": "sums", "target": 1}
    assert (await http_without_cluster.get("/api/workers/k8s/target/smus")).status_code == 422


async def test_command_line_shows_and_changes_replicas(cluster: Cluster, database: str) -> None:
    declare(database)
    shown, target, refused = await asyncio.gather(
        rolecall(cluster, database, "replicas", "--json"),
        rolecall(cluster, database, "scale-target", "sums"),
        rolecall(cluster, database, "scale", "9"),
    )
    scaled = await rolecall(cluster, database, "scale", "2")

    assert (shown[0], json.loads(shown[1])["desired"]) == (0, 4)
    assert (scaled[0], "rolecall-worker-3, rolecall-worker-2" in scaled[1]) == (0, True)
    assert (target[0], target[1].split()[-1]) == (0, "1")
    assert (refused[0], "the number of replicas must be 1 to 8, got 9" in refused[1]) == (2, True)
    assert cluster.desired == 2


async def rolecall(cluster: Cluster, database: str, *arguments: str) -> tuple[int | None, str]:
    """Run the real command with the emulator; return its exit code and its output."""
    settings = cluster.settings
    environ = {
        **os.environ,
        "DATABASE_URL": database,
        "KUBECONFIG": str(settings.kubeconfig),
        "ROLECALL_K8S_NAMESPACE": settings.namespace or "",
        "ROLECALL_K8S_MAX_REPLICAS": str(settings.most),
    }
    command: Sequence[str] = (sys.executable, "-m", "rolecall", *arguments)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, env=environ, stdout=pipe, stderr=pipe)
    out, err = await process.communicate()
    return process.returncode, (out + err).decode()
