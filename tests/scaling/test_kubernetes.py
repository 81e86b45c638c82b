"""Requests of the scaler to a cluster over real HTTP, and its errors."""

from __future__ import annotations

import json
import socket
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rolecall.config import ScalingSettings
from rolecall.model.errors import ClusterMissing, ClusterRefused, ClusterUnavailable, WorkloadNotFound
from rolecall.model.operator.scaling import ScalingWay
from rolecall.service.scaler import Scaler, scaler_for
from tests.scaling.cluster import Cluster, kubeconfig


async def test_workload_reports_current_desired_and_ready_pods(cluster: Cluster, scaler: Scaler) -> None:
    found = await scaler.read_replicas()

    assert (found.current, found.desired, found.ready) == (4, 4, 3)
    assert (found.kind, found.namespace, found.name) == ("StatefulSet", "crawling", "rolecall-worker")
    assert (found.least, found.most) == (1, 8)


async def test_missing_namespace_defaults_to_that_of_the_kubeconfig(cluster: Cluster, tmp_path: Path) -> None:
    config = json.loads(cluster.settings.kubeconfig.read_text() if cluster.settings.kubeconfig else "")
    config["contexts"][0]["context"]["namespace"] = "crawling"
    file = tmp_path / "of-a-namespace"
    file.write_text(json.dumps(config))

    found = await scaler_for(replace(cluster.settings, namespace=None, kubeconfig=file)).read_replicas()

    assert found.namespace == "crawling"


async def test_ready_count_is_unknown_with_permission_for_the_scale_only(cluster: Cluster, scaler: Scaler) -> None:
    cluster.deny("get statefulsets")

    found = await scaler.read_replicas()

    assert (found.current, found.desired, found.ready) == (4, 4, None)


async def test_replicas_are_changed_through_the_scale_subresource(cluster: Cluster, scaler: Scaler) -> None:
    assert await scaler.scale(6) is ScalingWay.SCALE

    assert cluster.desired == 6
    assert cluster.calls == ["patch statefulsets/scale"]


async def test_object_is_patched_if_the_scale_subresource_is_denied(cluster: Cluster, scaler: Scaler) -> None:
    cluster.deny("patch statefulsets/scale")

    assert await scaler.scale(6) is ScalingWay.OBJECT

    assert cluster.desired == 6
    assert cluster.calls == ["patch statefulsets/scale", "patch statefulsets"]


async def test_dry_run_changes_nothing(cluster: Cluster, scaler: Scaler) -> None:
    await scaler.scale(6, rehearse=True)

    assert cluster.desired == 4


async def test_deployment_is_scaled_in_the_same_way(deployed: Cluster) -> None:
    await scaler_for(deployed.settings).scale(2)

    assert deployed.desired == 2
    assert deployed.calls == ["patch deployments/scale"]


async def test_deletion_cost_is_set_on_a_pod_and_missing_pods_are_skipped(deployed: Cluster) -> None:
    deployed.add_pods("rolecall-worker-a", "rolecall-worker-b")

    await scaler_for(deployed.settings).mark({"rolecall-worker-gone": 2, "rolecall-worker-b": 7})

    assert deployed.costs() == {"rolecall-worker-b": "7"}


async def test_permission_error_names_the_missing_permission(cluster: Cluster, scaler: Scaler) -> None:
    cluster.deny("patch statefulsets/scale", "patch statefulsets")

    with pytest.raises(
        ClusterRefused, match="does not let us patch statefulsets/scale in namespace 'crawling'"
    ) as caught:
        await scaler.scale(2)

    assert (caught.value.verb, caught.value.resource) == ("patch", "statefulsets/scale")


async def test_missing_workload_is_named(cluster: Cluster) -> None:
    scaler = scaler_for(replace(cluster.settings, workload="no-such-set"))

    for call in (scaler.read_replicas(), scaler.scale(2), scaler.scale(2, rehearse=True)):
        with pytest.raises(WorkloadNotFound, match="no StatefulSet 'no-such-set' in namespace 'crawling'"):
            await call


async def test_overloaded_cluster_is_unavailable(cluster: Cluster, scaler: Scaler) -> None:
    cluster.answer(502, "<html>Bad Gateway</html>")

    with pytest.raises(ClusterUnavailable, match="answered 502 to get statefulsets"):
        await scaler.read_replicas()


async def test_non_kubernetes_response_is_distinguished(cluster: Cluster, scaler: Scaler) -> None:
    cluster.answer(200, "<html>Welcome</html>")

    with pytest.raises(ClusterUnavailable, match="is not from Kubernetes"):
        await scaler.read_replicas()


async def test_unreachable_cluster_is_unavailable(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        file = tmp_path / "kubeconfig"
        file.write_text(kubeconfig(f"http://127.0.0.1:{taken.getsockname()[1]}"))

        with pytest.raises(ClusterUnavailable, match="does not answer"):
            await scaler_for(ScalingSettings(kubeconfig=file)).read_replicas()


@pytest.mark.parametrize("text", ["", "{", "- a list", "token: very-secret\n  bad", "{}"])
async def test_invalid_kubeconfig_is_named_without_its_content(tmp_path: Path, text: str) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(text)

    with pytest.raises(ClusterMissing, match="kubeconfig' cannot be read") as caught:
        await scaler_for(ScalingSettings(kubeconfig=file)).read_replicas()

    assert "secret" not in str(caught.value)


async def test_pod_without_a_token_has_no_cluster_to_scale() -> None:
    with pytest.raises(ClusterMissing, match="the token of this pod cannot be read"):
        await scaler_for(ScalingSettings(in_cluster=True)).read_replicas()


async def test_every_call_outside_a_cluster_returns_the_reason() -> None:
    nowhere = scaler_for(ScalingSettings())

    for call in (nowhere.read_replicas(), nowhere.scale(1), nowhere.mark({})):
        with pytest.raises(ClusterMissing, match="does not run in a pod, and KUBECONFIG is not set"):
            await call


async def test_missing_extra_is_reported_with_installation_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightkube", None)

    with pytest.raises(ClusterMissing, match=r"pip install 'rolecall\[kubernetes\]'"):
        await scaler_for(ScalingSettings(in_cluster=True)).read_replicas()
