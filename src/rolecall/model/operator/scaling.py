"""The number of workers that a cluster runs, and the results of changing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class WorkloadKind(StrEnum):
    """The Kubernetes kind that manages the workers' pods."""

    STATEFUL_SET = "StatefulSet"
    DEPLOYMENT = "Deployment"


class ScalingWay(StrEnum):
    """How the number was changed: through the scale subresource or the object itself."""

    SCALE = "scale"
    OBJECT = "object"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicas:
    """The current, desired and ready pods of a set; `least` and `most` limit the number that may be requested.

    `ready` is None if we may read only the scale subresource.
    """

    kind: WorkloadKind
    namespace: str
    name: str
    current: int
    desired: int
    ready: int | None
    least: int
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """The result of changing the number of pods.

    `leaving` are the pods to be removed, those with the least running work first; `decommissioned` are the ids of
    their workers. `unmarked` is the reason why the cluster does not know which pods to remove, if it should.
    """

    previous: int
    desired: int
    way: ScalingWay
    leaving: Sequence[str] = ()
    decommissioned: Sequence[int] = ()
    unmarked: str | None = None


@dataclass(frozen=True, slots=True)
class PodWork:
    """The running tasks of the workers in one pod."""

    pod: str
    worker_ids: list[int]
    running: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleTarget:
    """The number of a role's tasks that workers could run now: ready tasks without obstacles, and running ones."""

    role: str
    target: int
