"""Errors about the cluster that keeps the workers running."""

from __future__ import annotations

from rolecall.model.errors.root import RolecallError


class ScalingError(RolecallError):
    """Something about the number of workers, or about the cluster."""


class ReplicasOutOfBounds(ScalingError):
    """Fewer or more workers are asked for than the settings allow."""

    def __init__(self, problem: str, *, least: int = 0, most: int = 0) -> None:
        super().__init__(problem)
        self.least = least
        self.most = most


class ClusterMissing(ScalingError):
    """There is no cluster to ask: none is configured, or its client is not installed."""


class ClusterUnavailable(ScalingError):
    """The cluster does not answer, or cannot at the moment."""


class ClusterRefused(ScalingError):
    """The cluster does not let this service do what it must: `verb` on `resource`."""

    def __init__(self, problem: str, *, verb: str = "", resource: str = "") -> None:
        super().__init__(problem)
        self.verb = verb
        self.resource = resource


class WorkloadNotFound(ScalingError):
    """The cluster has no such StatefulSet or Deployment."""
