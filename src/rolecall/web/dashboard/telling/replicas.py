"""The card that shows how many workers a cluster keeps, who would leave, and, where it cannot, says why."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from rolecall.model.errors import ScalingError
from rolecall.model.scaling import PodWork, Replicas
from rolecall.service.scaling import Scaling

__all__ = ["ReplicaCard", "Step", "replica_card", "step_to"]

# A page is not held up by a cluster that does not answer.
PATIENCE = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Another number of replicas, and who leaves for it."""

    previous: int
    replicas: int
    leaving: Sequence[PodWork]

    @property
    def words(self) -> str:
        """What becomes of it, as a sentence."""
        more = self.replicas - self.previous
        if more > 0:
            return f"{more} {'pod' if more == 1 else 'pods'} more."
        if not self.leaving:
            return "A pod that is not ready goes."
        names = ", ".join(f"{work.pod} ({_does(work)})" for work in self.leaving)
        verb = "leaves" if len(self.leaving) == 1 else "leave"
        return f"{names} {verb}; what runs there is finished or given back."


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaCard:
    """How many replicas there are, or the reason why nobody can say."""

    replicas: Replicas | None = None
    reason: str = ""
    fewer: Step | None = None
    more: Step | None = None
    wanted: Step | None = None


async def replica_card(scaling: Scaling, wanted: int | None) -> ReplicaCard:
    """Ask the cluster; `wanted` is the number that somebody thinks of."""
    try:
        async with asyncio.timeout(PATIENCE):
            seen = await scaling.replicas()
    except TimeoutError:
        return ReplicaCard(reason=f"the cluster did not answer within {PATIENCE} s")
    except ScalingError as error:
        return ReplicaCard(reason=str(error))
    return ReplicaCard(
        replicas=seen,
        fewer=await step_to(scaling, seen, seen.desired - 1),
        more=await step_to(scaling, seen, seen.desired + 1),
        wanted=None if wanted is None else await step_to(scaling, seen, wanted),
    )


async def step_to(scaling: Scaling, seen: Replicas, replicas: int) -> Step | None:
    """The way from the replicas seen to another number of them; None where it is theirs, or out of bounds."""
    if not seen.least <= replicas <= seen.most or replicas == seen.desired:
        return None
    return Step(previous=seen.desired, replicas=replicas, leaving=await scaling.leaving(seen, replicas))


def _does(work: PodWork) -> str:
    if not work.worker_ids:
        return "no worker on the roll"
    return f"runs {work.running} {'task' if work.running == 1 else 'tasks'}" if work.running else "idle"
