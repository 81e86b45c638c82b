"""The pods of the workers, and the bounds of their number."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolecall.config import ScalingSettings, read_settings
from rolecall.model.errors import ConfigError
from rolecall.model.operator.scaling import WorkloadKind


def test_default_workload_has_its_documented_name_and_the_clusters_namespace() -> None:
    scaling = read_settings({}).scaling

    assert (scaling.namespace, scaling.workload) == (None, "rolecall-worker")
    assert scaling.kind is WorkloadKind.STATEFUL_SET
    assert (scaling.least, scaling.most) == (1, 20)
    assert (scaling.kubeconfig, scaling.in_cluster) == (None, False)


def test_every_scaling_variable_is_read() -> None:
    environ = {
        "ROLECALL_K8S_NAMESPACE": "crawling",
        "ROLECALL_K8S_WORKLOAD": "task-worker-resync",
        "ROLECALL_K8S_KIND": "deployment",
        "ROLECALL_K8S_MIN_REPLICAS": "0",
        "ROLECALL_K8S_MAX_REPLICAS": "8",
        "KUBECONFIG": "here/config",
        "KUBERNETES_SERVICE_HOST": "10.0.0.1",
    }

    assert read_settings(environ).scaling == ScalingSettings(
        namespace="crawling",
        workload="task-worker-resync",
        kind=WorkloadKind.DEPLOYMENT,
        least=0,
        most=8,
        kubeconfig=Path("here/config"),
        in_cluster=True,
    )


def test_minimum_raises_an_unset_maximum() -> None:
    assert read_settings({"ROLECALL_K8S_MIN_REPLICAS": "30"}).scaling.most == 30


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("ROLECALL_K8S_NAMESPACE", "Crawling"),
        ("ROLECALL_K8S_NAMESPACE", "a/b"),
        ("ROLECALL_K8S_WORKLOAD", "-x"),
        ("ROLECALL_K8S_WORKLOAD", "x" * 64),
        ("ROLECALL_K8S_KIND", "DaemonSet"),
        ("ROLECALL_K8S_MIN_REPLICAS", "-1"),
        ("ROLECALL_K8S_MAX_REPLICAS", "many"),
    ],
)
def test_invalid_setting_is_rejected_by_name(variable: str, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_settings({variable: text})

    assert caught.value.variable == variable


def test_maximum_cannot_be_less_than_the_minimum() -> None:
    with pytest.raises(ConfigError, match="must be between 5 and"):
        read_settings({"ROLECALL_K8S_MIN_REPLICAS": "5", "ROLECALL_K8S_MAX_REPLICAS": "4"})


def test_variable_names_of_the_predecessor_system_are_read() -> None:
    environ = {
        "K8S_NAMESPACE": "dispensary-scraper",
        "K8S_WORKER_STATEFULSET": "scraper-worker",
        "K8S_WORKER_KIND": "StatefulSet",
        "K8S_MAX_REPLICAS": "8",
    }

    scaling = read_settings(environ).scaling

    assert (scaling.namespace, scaling.workload, scaling.most) == ("dispensary-scraper", "scraper-worker", 8)
    assert scaling.kind is WorkloadKind.STATEFUL_SET
