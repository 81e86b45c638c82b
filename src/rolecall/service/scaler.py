"""Changes the number of worker pods in a Kubernetes cluster.

    service ──► scaler_for(settings) ──┬─► Kubernetes   extra `kubernetes` installed, and a cluster configured
                                       └─► NoCluster    raises an error with the reason

A scaler knows nothing about tasks and workers. The service decides which pods have the least to lose. A Deployment
deletes the pods with the lowest cost annotation first, a StatefulSet those with the highest ordinals.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import NoReturn, Protocol, cast

from rolecall.config import ScalingSettings
from rolecall.extras import is_installed, missing_extra
from rolecall.model.errors import ClusterMissing
from rolecall.model.operator.scaling import Replicas, ScalingWay


class Scaler(Protocol):
    """Scales the configured workload. All methods raise ScalingError."""

    async def read_replicas(self) -> Replicas:
        """Return the current and the desired number of pods."""

    async def scale(self, replicas: int, *, rehearse: bool = False) -> ScalingWay:
        """Set the number of pods. A dry run changes nothing, but fails like a real one."""

    async def mark(self, costs: Mapping[str, int]) -> None:
        """Set the deletion cost of pods. Missing pods are ignored."""


class NoCluster:
    """Raises an error with the `reason` for everything."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def read_replicas(self) -> Replicas:
        self._refuse()

    async def scale(self, replicas: int, *, rehearse: bool = False) -> ScalingWay:  # noqa: ARG002 - the protocol's
        self._refuse()

    async def mark(self, costs: Mapping[str, int]) -> None:  # noqa: ARG002 - the protocol's
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ClusterMissing(f"no cluster to scale: {self._reason}")


class _HasKubernetes(Protocol):
    """The part of `rolecall.service.kubernetes` used here."""

    def Kubernetes(self, settings: ScalingSettings) -> Scaler: ...  # noqa: N802 - it is a class


def scaler_for(settings: ScalingSettings) -> Scaler:
    """Return the scaler for the configured workload. It connects on first use."""
    if settings.kubeconfig is None and not settings.in_cluster:
        return NoCluster("this process does not run in a pod, and KUBECONFIG is not set")
    if not is_installed("kubernetes"):
        return NoCluster(str(missing_extra("kubernetes")))
    # Imported by name: the extra may be missing, and importing it takes half a second.
    module = cast("_HasKubernetes", import_module("rolecall.service.kubernetes"))
    return module.Kubernetes(settings)
