"""What can be asked of a cluster, and the one that is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn, Protocol

from rolecall.model.errors import ClusterMissing
from rolecall.model.scaling import Replicas, ScalingWay

__all__ = ["NoCluster", "Scaler"]


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
