"""Which pods go when there are to be fewer, and what each would lose."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rolecall.model.scaling import PodWork, Replicas, WorkloadKind

__all__ = ["Leave", "choose"]

GOES_FIRST = -1
# How a pod is named after its set: by its ordinal, or by the hash of the template and five random letters.
ENDINGS = {WorkloadKind.STATEFUL_SET: r"\d+", WorkloadKind.DEPLOYMENT: r"[a-z0-9]+-[a-z0-9]{5}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    """The pods that go, the workers in them, and for each pod that can be marked what deleting it would cost."""

    pods: Sequence[str] = ()
    worker_ids: Sequence[int] = ()
    costs: Mapping[str, int] = field(default_factory=dict)


def choose(before: Replicas, replicas: int, pods: Sequence[PodWork]) -> Leave:
    """Say who leaves a set that is to have so many; pods of other sets are left alone."""
    if replicas >= before.desired:
        return Leave()
    name = re.compile(f"{re.escape(before.name)}-{ENDINGS[before.kind]}")
    own = [work for work in pods if name.fullmatch(work.pod)]
    if before.kind is WorkloadKind.STATEFUL_SET:
        return _highest_ordinals(before, replicas, own)
    return _least_to_lose(before, replicas, own)


def _highest_ordinals(before: Replicas, replicas: int, pods: Sequence[PodWork]) -> Leave:
    """A StatefulSet asks nobody: its highest ordinals go."""
    names = [f"{before.name}-{ordinal}" for ordinal in range(before.desired - 1, replicas - 1, -1)]
    return Leave(pods=names, worker_ids=_workers_of(pods, names))


def _least_to_lose(before: Replicas, replicas: int, pods: Sequence[PodWork]) -> Leave:
    """A Deployment takes the pods that are not ready, which run nothing, and then the cheapest."""
    idle_first = sorted(pods, key=lambda work: (work.running, -max(work.worker_ids)))
    without_worker = max(0, before.current - len(pods))
    names = [work.pod for work in idle_first[: max(0, before.desired - replicas - without_worker)]]
    costs = {work.pod: GOES_FIRST if work.pod in names else work.running for work in pods}
    return Leave(pods=names, worker_ids=_workers_of(pods, names), costs=costs)


def _workers_of(pods: Sequence[PodWork], names: Sequence[str]) -> list[int]:
    return [worker_id for work in pods if work.pod in names for worker_id in work.worker_ids]
