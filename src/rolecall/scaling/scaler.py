"""The interface of scalers, the one without a cluster, and the choice between them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import NoReturn, Protocol, cast

from rolecall.config import ScalingSettings
from rolecall.extras import is_installed, missing_extra
from rolecall.model.errors import ClusterMissing
from rolecall.model.scaling import Replicas, ScalingWay


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
    """The part of `rolecall.scaling.kubernetes` used here."""

    def Kubernetes(self, settings: ScalingSettings) -> Scaler: ...  # noqa: N802 - it is a class


def scaler_for(settings: ScalingSettings) -> Scaler:
    """Return the scaler for the configured workload. It connects on first use."""
    if settings.kubeconfig is None and not settings.in_cluster:
        return NoCluster("this process does not run in a pod, and KUBECONFIG is not set")
    if not is_installed("kubernetes"):
        return NoCluster(str(missing_extra("kubernetes")))
    # Imported by name: the extra may be missing, and importing it takes half a second.
    module = cast("_HasKubernetes", import_module("rolecall.scaling.kubernetes"))
    return module.Kubernetes(settings)
