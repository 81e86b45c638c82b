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
from rolecall.model.scaling import ScalingWay
from rolecall.scaling import Scaler, scaler_for
from tests.scaling.cluster import Cluster, kubeconfig


async def test_the_object_tells_how_many_pods_are_there_wanted_and_ready(cluster: Cluster, scaler: Scaler) -> None:
    found = await scaler.look()

    assert (found.current, found.desired, found.ready) == (4, 4, 3)
    assert (found.kind, found.namespace, found.name) == ("StatefulSet", "crawling", "rolecall-worker")
    assert (found.least, found.most) == (1, 8)


async def test_without_a_namespace_that_of_the_kubeconfig_is_meant(cluster: Cluster, tmp_path: Path) -> None:
    config = json.loads(cluster.settings.kubeconfig.read_text() if cluster.settings.kubeconfig else "")
    config["contexts"][0]["context"]["namespace"] = "crawling"
    file = tmp_path / "of-a-namespace"
    file.write_text(json.dumps(config))

    found = await scaler_for(replace(cluster.settings, namespace=None, kubeconfig=file)).look()

    assert found.namespace == "crawling"


async def test_who_may_read_the_scale_only_is_not_told_what_is_ready(cluster: Cluster, scaler: Scaler) -> None:
    cluster.deny("get statefulsets")

    found = await scaler.look()

    assert (found.current, found.desired, found.ready) == (4, 4, None)


async def test_the_number_is_changed_through_the_scale_sub_resource(cluster: Cluster, scaler: Scaler) -> None:
    assert await scaler.scale(6) is ScalingWay.SCALE

    assert cluster.desired == 6
    assert cluster.asked == ["patch statefulsets/scale"]


async def test_where_the_scale_is_refused_the_object_is_patched(cluster: Cluster, scaler: Scaler) -> None:
    cluster.deny("patch statefulsets/scale")

    assert await scaler.scale(6) is ScalingWay.OBJECT

    assert cluster.desired == 6
    assert cluster.asked == ["patch statefulsets/scale", "patch statefulsets"]


async def test_a_rehearsal_changes_nothing(cluster: Cluster, scaler: Scaler) -> None:
    await scaler.scale(6, rehearse=True)

    assert cluster.desired == 4


async def test_a_deployment_is_scaled_in_the_same_way(deployed: Cluster) -> None:
    await scaler_for(deployed.settings).scale(2)

    assert deployed.desired == 2
    assert deployed.asked == ["patch deployments/scale"]


async def test_the_cost_of_a_pod_is_written_on_it_and_one_that_is_gone_is_passed_over(deployed: Cluster) -> None:
    deployed.add_pods("rolecall-worker-a", "rolecall-worker-b")

    await scaler_for(deployed.settings).mark({"rolecall-worker-gone": 2, "rolecall-worker-b": 7})

    assert deployed.costs() == {"rolecall-worker-b": "7"}


async def test_without_permission_the_error_names_what_is_missing(cluster: Cluster, scaler: Scaler) -> None:
    cluster.deny("patch statefulsets/scale", "patch statefulsets")

    with pytest.raises(
        ClusterRefused, match="does not let us patch statefulsets/scale in namespace 'crawling'"
    ) as caught:
        await scaler.scale(2)

    assert (caught.value.verb, caught.value.resource) == ("patch", "statefulsets/scale")


async def test_a_set_that_the_cluster_does_not_have_is_named(cluster: Cluster) -> None:
    scaler = scaler_for(replace(cluster.settings, workload="no-such-set"))

    for call in (scaler.look(), scaler.scale(2), scaler.scale(2, rehearse=True)):
        with pytest.raises(WorkloadNotFound, match="no StatefulSet 'no-such-set' in namespace 'crawling'"):
            await call


async def test_a_cluster_that_cannot_answer_now_is_unavailable(cluster: Cluster, scaler: Scaler) -> None:
    cluster.answer(502, "<html>Bad Gateway</html>")

    with pytest.raises(ClusterUnavailable, match="answered 502 to get statefulsets"):
        await scaler.look()


async def test_what_is_no_kubernetes_is_told_apart(cluster: Cluster, scaler: Scaler) -> None:
    cluster.answer(200, "<html>Welcome</html>")

    with pytest.raises(ClusterUnavailable, match="is not from Kubernetes"):
        await scaler.look()


async def test_a_cluster_where_nobody_listens_is_unavailable(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        file = tmp_path / "kubeconfig"
        file.write_text(kubeconfig(f"http://127.0.0.1:{taken.getsockname()[1]}"))

        with pytest.raises(ClusterUnavailable, match="does not answer"):
            await scaler_for(ScalingSettings(kubeconfig=file)).look()


@pytest.mark.parametrize("text", ["", "{", "- a list", "token: very-secret\n  bad", "{}"])
async def test_a_kubeconfig_that_is_none_is_named_without_what_it_holds(tmp_path: Path, text: str) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(text)

    with pytest.raises(ClusterMissing, match="kubeconfig' cannot be read") as caught:
        await scaler_for(ScalingSettings(kubeconfig=file)).look()

    assert "secret" not in str(caught.value)


async def test_a_pod_without_a_token_has_no_cluster_to_scale() -> None:
    with pytest.raises(ClusterMissing, match="the token of this pod cannot be read"):
        await scaler_for(ScalingSettings(in_cluster=True)).look()


async def test_outside_of_a_cluster_every_question_is_answered_with_the_reason() -> None:
    nowhere = scaler_for(ScalingSettings())

    for call in (nowhere.look(), nowhere.scale(1), nowhere.mark({})):
        with pytest.raises(ClusterMissing, match="does not run in a pod, and KUBECONFIG is not set"):
            await call


async def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightkube", None)

    with pytest.raises(ClusterMissing, match=r"pip install 'rolecall\[kubernetes\]'"):
        await scaler_for(ScalingSettings(in_cluster=True)).look()
