"""What can be asked of a cluster, the one that is none, and which one is meant."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import NoReturn, Protocol, cast

from rolecall.config import ScalingSettings
from rolecall.extras import is_installed, missing_extra
from rolecall.model.errors import ClusterMissing
from rolecall.model.scaling import Replicas, ScalingWay

__all__ = [
    "NoCluster",
    "Scaler",
    "scaler_for",
]


class Scaler(Protocol):
    """The set of pods that the settings name. Every call raises a ScalingError for what goes wrong."""

    async def look(self) -> Replicas:
        """Ask how many pods there are, and how many are wanted."""

    async def scale(self, replicas: int, *, rehearse: bool = False) -> ScalingWay:
        """Let the set have so many pods; a rehearsal changes nothing, and is refused like the real thing."""

    async def mark(self, costs: Mapping[str, int]) -> None:
        """Say by pod what deleting it would cost; a pod that is gone is passed over."""


class NoCluster:
    """No cluster: `reason` says why."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def look(self) -> Replicas:
        self._refuse()

    async def scale(self, replicas: int, *, rehearse: bool = False) -> ScalingWay:  # noqa: ARG002 - the protocol's
        self._refuse()

    async def mark(self, costs: Mapping[str, int]) -> None:  # noqa: ARG002 - the protocol's
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ClusterMissing(f"there is no cluster to scale: {self._reason}")


class _HasKubernetes(Protocol):
    """What `rolecall.scaling.kubernetes` offers."""

    def Kubernetes(self, settings: ScalingSettings) -> Scaler: ...  # noqa: N802 - it is a class


def scaler_for(settings: ScalingSettings) -> Scaler:
    """Return what scales the set that the settings name; it connects when it is asked something."""
    if settings.kubeconfig is None and not settings.in_cluster:
        return NoCluster("this process runs in no pod, and KUBECONFIG names no file")
    if not is_installed("kubernetes"):
        return NoCluster(str(missing_extra("kubernetes")))
    # By name: the extra may be missing, and only who asks a cluster waits half a second for its import.
    module = cast("_HasKubernetes", import_module("rolecall.scaling.kubernetes"))
    return module.Kubernetes(settings)
