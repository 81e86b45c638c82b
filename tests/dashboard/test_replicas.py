"""The number of a cluster's workers, on the page of the workers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from rolecall import App
from rolecall.config import Settings
from rolecall.model.operator.scaling import WorkloadKind
from tests.dashboard.crews import join
from tests.dashboard.reading import send
from tests.scaling.cluster import Cluster, running_cluster
from tests.sql.engine import Engine
from tests.web.doors import unguarded


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    """A StatefulSet of four pods, of which three are ready, with bounds of one and eight."""
    async with running_cluster(tmp_path, WorkloadKind.STATEFUL_SET, 4) as cluster:
        yield cluster


@pytest.fixture
async def scaled(
    database: str, app: App, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[httpx2.AsyncClient]:
    """Pages of a server with access to the cluster, and with a longer timeout than usual."""
    monkeypatch.setattr("rolecall.web.dashboard.presenters.workers.PATIENCE", 30.0)
    application = unguarded(database, app, Settings(scaling=cluster.settings))
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=application), base_url="http://test") as client,
    ):
        yield client


async def test_page_without_a_cluster_explains_why_scaling_is_unavailable(
    pool: Engine, http: httpx2.AsyncClient
) -> None:
    page = (await http.get("/admin/workers")).text

    assert "no cluster to scale: this process does not run in a pod" in page
    assert "One more" not in page


async def test_card_shows_the_replicas_and_the_next_one_to_be_removed(pool: Engine, scaled: httpx2.AsyncClient) -> None:
    pool.enqueue_many([{"role": "sums", "handler": "add"}] * 2)
    join(pool, "north", "sums", pod="rolecall-worker-3", running=2)

    page = (await scaled.get("/admin/workers")).text

    assert "Replicas of rolecall-worker" in page
    assert "between 1 and 8" in page
    assert "<dt>Ready</dt><dd>3</dd>" in page
    assert "rolecall-worker-3 (runs 2 tasks) stops" in page


@pytest.mark.parametrize(("button", "replicas"), [("One fewer", 3), ("One more", 5)])
async def test_button_changes_the_replicas_by_one(
    pool: Engine, scaled: httpx2.AsyncClient, cluster: Cluster, button: str, replicas: int
) -> None:
    page = (await scaled.get("/admin/workers")).text
    form = page.partition(button)[0].rpartition("<form")[2]
    assert f'name="replicas" value="{replicas}"' in form

    answer = await send(scaled, "/admin/workers/replicas", at="/admin/workers", replicas=str(replicas))

    assert answer.status_code == 303
    assert cluster.desired == replicas
    assert f"From 4 to {replicas} replicas." in (await scaled.get("/admin/workers")).text


async def test_target_is_previewed_before_it_is_applied(
    pool: Engine, scaled: httpx2.AsyncClient, cluster: Cluster
) -> None:
    page = (await scaled.get("/admin/workers?replicas=2")).text

    assert "rolecall-worker-3 (no registered worker), rolecall-worker-2 (no registered worker) stop" in page
    assert "Scale to 2" in page
    assert cluster.desired == 4


async def test_number_out_of_range_is_reported(pool: Engine, scaled: httpx2.AsyncClient, cluster: Cluster) -> None:
    headers = {"referer": "http://test/admin/workers"}
    answer = await scaled.post("/admin/workers/replicas", data={"replicas": "40"}, headers=headers)

    assert answer.status_code == 303
    assert "the number of replicas must be 1 to 8, got 40" in (await scaled.get("/admin/workers")).text
    assert cluster.desired == 4


async def test_missing_permission_is_shown_instead_of_buttons(
    pool: Engine, scaled: httpx2.AsyncClient, cluster: Cluster
) -> None:
    cluster.deny("get statefulsets", "get statefulsets/scale")

    page = (await scaled.get("/admin/workers")).text

    assert "the cluster does not let us get statefulsets" in page
    assert "One more" not in page
