"""How many workers a cluster keeps running: the numbers, and what changing them came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["PodWork", "Replicas", "ScaleTarget", "Scaled", "ScalingWay", "WorkloadKind"]


class WorkloadKind(StrEnum):
    """Which kind of set keeps the pods of the workers."""

    STATEFUL_SET = "StatefulSet"
    DEPLOYMENT = "Deployment"


class ScalingWay(StrEnum):
    """Through what the number was changed: the scale sub-resource, or the set's own object."""

    SCALE = "scale"
    OBJECT = "object"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicas:
    """How many pods a set has, wants and has ready; `least` and `most` bound what may be asked for.

    `ready` is None where the cluster lets us read no more than the scale.
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
    """What a change of the number came to.

    `leaving` names the pods that go, those with the least to lose first; `decommissioned` are the ids of their workers.
    `unmarked` says why the cluster was not told which pods to take, where it should have been.
    """

    previous: int
    desired: int
    way: ScalingWay
    leaving: Sequence[str] = ()
    decommissioned: Sequence[int] = ()
    unmarked: str | None = None


@dataclass(frozen=True, slots=True)
class PodWork:
    """What the workers in one pod run at this moment."""

    pod: str
    worker_ids: list[int]
    running: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleTarget:
    """How many tasks of a role workers could be running now: those due and free to run, and those that run."""

    role: str
    target: int
