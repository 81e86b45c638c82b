"""Settings of scaling: the cluster and the workload with the workers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from rolecall.config.parsing import integer, kubernetes_name, one_of
from rolecall.config.setting import Setting, Source
from rolecall.config.worker import IN_CLUSTER
from rolecall.model.operator.scaling import WorkloadKind

MOST_REPLICAS = 10_000

NAMESPACE = Setting(
    name="ROLECALL_K8S_NAMESPACE",
    aliases=("K8S_NAMESPACE",),
    form="NAME",
    parse=kubernetes_name,
    meaning="The namespace of the workers; by default that of this pod or of the kubeconfig's context.",
)
WORKLOAD = Setting(
    name="ROLECALL_K8S_WORKLOAD",
    aliases=("K8S_WORKER_STATEFULSET",),
    form="NAME",
    default="rolecall-worker",
    parse=kubernetes_name,
    meaning="The name of the StatefulSet or Deployment.",
)
KIND = Setting(
    name="ROLECALL_K8S_KIND",
    aliases=("K8S_WORKER_KIND",),
    form="KIND",
    default="StatefulSet",
    parse=one_of(WorkloadKind),
    meaning="The kind of the workload: StatefulSet or Deployment.",
)
MIN_REPLICAS = Setting(
    name="ROLECALL_K8S_MIN_REPLICAS",
    aliases=("K8S_MIN_REPLICAS",),
    form="N",
    default="1",
    parse=integer(0, MOST_REPLICAS),
    meaning="The minimum number of pods.",
)
MAX_REPLICAS = Setting(
    name="ROLECALL_K8S_MAX_REPLICAS",
    aliases=("K8S_MAX_REPLICAS",),
    form="N",
    default="20",
    parse=integer(0, MOST_REPLICAS),
    meaning="The maximum number of pods.",
)
KUBECONFIG = Setting(
    name="KUBECONFIG",
    foreign=True,
    form="FILE",
    parse=Path,
    meaning="A kubeconfig file. Without it, the token of this pod is used.",
)
SETTINGS = (NAMESPACE, WORKLOAD, KIND, MIN_REPLICAS, MAX_REPLICAS, KUBECONFIG)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingSettings:
    """The workload with the workers, and the limits of its scale.

    The cluster is that of `kubeconfig`, or else that of this process's pod. The default `namespace` is that of either.
    """

    namespace: str | None = None
    workload: str = "rolecall-worker"
    kind: WorkloadKind = WorkloadKind.STATEFUL_SET
    least: int = 1
    most: int = 20
    kubeconfig: Path | None = None
    in_cluster: bool = False


def read_scaling_settings(source: Source) -> ScalingSettings:
    """Read the settings of scaling. Raises ConfigError."""
    standard = ScalingSettings()
    least = source.read(MIN_REPLICAS, standard.least)
    most = source.read(replace(MAX_REPLICAS, parse=integer(least, MOST_REPLICAS)), max(least, standard.most))
    return ScalingSettings(
        namespace=source.read(NAMESPACE, standard.namespace),
        workload=source.read(WORKLOAD, standard.workload),
        kind=source.read(KIND, standard.kind),
        least=least,
        most=most,
        kubeconfig=source.read(KUBECONFIG, standard.kubeconfig),
        in_cluster=source.read(IN_CLUSTER, None) is not None,
    )
