"""What an operator may do about the number of workers that a cluster keeps running."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from rolecall.config import ScalingSettings
from rolecall.model.audit import AuditEvent
from rolecall.model.errors import ClusterRefused, ReplicasOutOfBounds, UnknownWorker
from rolecall.model.scaling import PodWork, Replicas, Scaled, ScaleTarget, WorkloadKind
from rolecall.scaling import Scaler, scaler_for
from rolecall.service.database import Database
from rolecall.service.workers import Workers
from rolecall.sql import capacity

__all__ = [
    "Leave",
    "Scaling",
    "choose",
]

GOES_FIRST = -1
# How a pod is named after its set: by its ordinal, or by the hash of the template and five random letters.
ENDINGS = {WorkloadKind.STATEFUL_SET: r"\d+", WorkloadKind.DEPLOYMENT: r"[a-z0-9]+-[a-z0-9]{5}"}


class Scaling:
    """The pods of workers. Every method about the cluster raises a ScalingError for what goes wrong there."""

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
        """How many pods of workers there are, and how many are wanted."""
        return await self._open_scaler(self._settings).look()

    async def target(self, role: str) -> ScaleTarget:
        """How many tasks of a role workers could be running now, for an autoscaler. Raises UnknownRole."""
        return ScaleTarget(role=role, target=await self._database.run(capacity.scale_target(role)))

    async def scale(self, replicas: int) -> Scaled:
        """Let the cluster keep so many pods of workers; those that go take no more tasks before they are stopped.

        Raises ReplicasOutOfBounds.
        """
        self._require_bounds(replicas)
        scaler = self._open_scaler(self._settings)
        before = await scaler.look()
        # Nobody is sent away for a number that the cluster then refuses.
        await scaler.scale(replicas, rehearse=True)
        leave = choose(before, replicas, await self._pods(before))
        unmarked = await _mark(scaler, leave)
        await self._write_down(before, replicas, leave)
        await self._send_away(leave)
        way = await scaler.scale(replicas)
        return Scaled(
            previous=before.desired,
            desired=replicas,
            way=way,
            leaving=leave.pods,
            decommissioned=leave.worker_ids,
            unmarked=unmarked,
        )

    async def leaving(self, before: Replicas, replicas: int) -> list[PodWork]:
        """The pods that would go if there were to be so many; one whose workers are not known runs nothing for us."""
        pods = await self._pods(before)
        leave = choose(before, replicas, pods)
        work = {each.pod: each for each in pods}
        return [work.get(pod, PodWork(pod, [], 0)) for pod in leave.pods]

    async def _pods(self, before: Replicas) -> list[PodWork]:
        return await self._database.run(capacity.pods_at_work(f"{before.name}-"))

    def _require_bounds(self, replicas: int) -> None:
        least, most = self._settings.least, self._settings.most
        if not least <= replicas <= most:
            problem = f"there may be {least} to {most} replicas, not {replicas}"
            raise ReplicasOutOfBounds(problem, least=least, most=most)

    async def _send_away(self, leave: Leave) -> None:
        # Not only drained: where the cluster takes another pod after all, what left is started again and serves on.
        for worker_id in leave.worker_ids:
            with suppress(UnknownWorker):
                await self._workers.decommission(worker_id)

    async def _write_down(self, before: Replicas, replicas: int, leave: Leave) -> None:
        # Before the event: a change that nobody wrote down is worse than a line about one that failed.
        detail = {
            "kind": before.kind,
            "namespace": before.namespace,
            "name": before.name,
            "previous": before.desired,
            "desired": replicas,
        }
        await self._database.note(AuditEvent("scaling.scale", detail), {"leaving": leave.pods})


async def _mark(scaler: Scaler, leave: Leave) -> str | None:
    """Tell the cluster whom to take; where it does not let us, it takes others, which lose no task either."""
    try:
        await scaler.mark(leave.costs)
    except ClusterRefused as refused:
        return str(refused)
    return None


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
