"""The number of workers that a cluster runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from rolecall.config import ScalingSettings
from rolecall.model.audit import AuditEvent
from rolecall.model.errors import ClusterRefused, ReplicasOutOfBounds, UnknownWorker
from rolecall.model.operator.scaling import PodWork, Replicas, Scaled, ScaleTarget, WorkloadKind
from rolecall.service.database import Database
from rolecall.service.scaler import Scaler, scaler_for
from rolecall.service.workers import Workers
from rolecall.sql import capacity

LOWEST_COST = -1
# The suffix of a pod's name: the ordinal, or the template's hash and five random letters.
ENDINGS = {WorkloadKind.STATEFUL_SET: r"\d+", WorkloadKind.DEPLOYMENT: r"[a-z0-9]+-[a-z0-9]{5}"}


class Scaling:
    """The pods of workers. All methods that access the cluster raise ScalingError for its errors."""

    def __init__(
        self,
        database: Database,
        workers: Workers,
        settings: ScalingSettings,
        open_scaler: Callable[[ScalingSettings], Scaler] = scaler_for,
    ) -> None:
        self._database = database
        self._workers = workers
        self._settings = settings
        self._open_scaler = open_scaler

    async def replicas(self) -> Replicas:
        """Return the current and the desired number of worker pods."""
        return await self._open_scaler(self._settings).read_replicas()

    async def target(self, role: str) -> ScaleTarget:
        """Return how many tasks of a role could be running now, for an autoscaler. Raises UnknownRole."""
        return ScaleTarget(role=role, target=await self._database.run(capacity.scale_target(role)))

    async def scale(self, replicas: int) -> Scaled:
        """Set the number of worker pods. The workers of pods that will stop are decommissioned first.

        Raises ReplicasOutOfBounds.
        """
        self._require_bounds(replicas)
        scaler = self._open_scaler(self._settings)
        before = await scaler.read_replicas()
        # A dry run: decommission no worker if the cluster would refuse the number.
        await scaler.scale(replicas, rehearse=True)
        scale_down = choose(before, replicas, await self._pods(before))
        unmarked = await _mark(scaler, scale_down)
        await self._record(before, replicas, scale_down)
        await self._decommission(scale_down)
        way = await scaler.scale(replicas)
        return Scaled(
            previous=before.desired,
            desired=replicas,
            way=way,
            leaving=scale_down.pods,
            decommissioned=scale_down.worker_ids,
            unmarked=unmarked,
        )

    async def leaving_pods(self, before: Replicas, replicas: int) -> list[PodWork]:
        """Return the pods that would stop at this number. A pod without known workers counts as idle."""
        pods = await self._pods(before)
        scale_down = choose(before, replicas, pods)
        work = {each.pod: each for each in pods}
        return [work.get(pod, PodWork(pod, [], 0)) for pod in scale_down.pods]

    async def _pods(self, before: Replicas) -> list[PodWork]:
        return await self._database.run(capacity.pods_at_work(f"{before.name}-"))

    def _require_bounds(self, replicas: int) -> None:
        least, most = self._settings.least, self._settings.most
        if not least <= replicas <= most:
            problem = f"the number of replicas must be {least} to {most}, got {replicas}"
            raise ReplicasOutOfBounds(problem, least=least, most=most)

    async def _decommission(self, scale_down: ScaleDown) -> None:
        # Decommission, not drain: if the cluster stops another pod, the exited worker is restarted and claims
        # again.
        for worker_id in scale_down.worker_ids:
            with suppress(UnknownWorker):
                await self._workers.decommission(worker_id)

    async def _record(self, before: Replicas, replicas: int, scale_down: ScaleDown) -> None:
        # Before the change: an unrecorded change is worse than an entry about one that failed.
        detail = {
            "kind": before.kind,
            "namespace": before.namespace,
            "name": before.name,
            "previous": before.desired,
            "desired": replicas,
        }
        await self._database.note(AuditEvent("scaling.scale", detail), {"leaving": scale_down.pods})


async def _mark(scaler: Scaler, scale_down: ScaleDown) -> str | None:
    """Mark the pods to stop. If that is forbidden, the cluster stops others, which loses no task either."""
    try:
        await scaler.mark(scale_down.costs)
    except ClusterRefused as refused:
        return str(refused)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleDown:
    """The pods to stop, their workers, and the deletion cost of each pod that can be marked."""

    pods: Sequence[str] = ()
    worker_ids: Sequence[int] = ()
    costs: Mapping[str, int] = field(default_factory=dict)


def choose(before: Replicas, replicas: int, pods: Sequence[PodWork]) -> ScaleDown:
    """Choose the pods to stop for a smaller number. Pods of other sets are ignored."""
    if replicas >= before.desired:
        return ScaleDown()
    name = re.compile(f"{re.escape(before.name)}-{ENDINGS[before.kind]}")
    own = [work for work in pods if name.fullmatch(work.pod)]
    if before.kind is WorkloadKind.STATEFUL_SET:
        return _highest_ordinals(before, replicas, own)
    return _least_to_lose(before, replicas, own)


def _highest_ordinals(before: Replicas, replicas: int, pods: Sequence[PodWork]) -> ScaleDown:
    """A StatefulSet always stops its highest ordinals."""
    names = [f"{before.name}-{ordinal}" for ordinal in range(before.desired - 1, replicas - 1, -1)]
    return ScaleDown(pods=names, worker_ids=_workers_of(pods, names))


def _least_to_lose(before: Replicas, replicas: int, pods: Sequence[PodWork]) -> ScaleDown:
    """A Deployment stops the pods that are not ready, which run nothing, and then those with the lowest cost."""
    idle_first = sorted(pods, key=lambda work: (work.running, -max(work.worker_ids)))
    without_worker = max(0, before.current - len(pods))
    names = [work.pod for work in idle_first[: max(0, before.desired - replicas - without_worker)]]
    costs = {work.pod: LOWEST_COST if work.pod in names else work.running for work in pods}
    return ScaleDown(pods=names, worker_ids=_workers_of(pods, names), costs=costs)


def _workers_of(pods: Sequence[PodWork], names: Sequence[str]) -> list[int]:
    return [worker_id for work in pods if work.pod in names for worker_id in work.worker_ids]
