"""The workers' page: the roll, and the card that says how many workers a cluster keeps.

The roll stands in an order that does not change with each beat, grouped where it is long. The card says who would
leave, and why where nobody can be told.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from rolecall.model.errors import ScalingError
from rolecall.model.insight import RegisteredWorker
from rolecall.model.scaling import PodWork, Replicas
from rolecall.service.scaling import Scaling
from rolecall.web.dashboard.presenters.lists import ListPage, page_of

__all__ = [
    "Group",
    "ReplicaCard",
    "ReplicaStep",
    "Roll",
    "clock_off",
    "make_roll",
    "replica_card",
    "roles_of",
    "step_to",
]

PAGE = 50
NO_LONGER = frozenset({"stopped", "silent"})
# A clock that is further off than this shows in times of log lines; Rolecall itself uses the database's.
CLOCK_OFF = 2.0
NUMBERS = re.compile(r"([0-9]{1,18})")
# A page is not held up by a cluster that does not answer.
PATIENCE = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Workers that serve the same roles; `roles` is None for all workers together."""

    roles: str | None
    workers: Sequence[RegisteredWorker]

    @property
    def slots(self) -> int:
        """How many tasks they could run at once; who is silent or stopped runs none."""
        return sum(worker.slots for worker in self._alive)

    @property
    def used(self) -> int:
        """How many tasks they run."""
        return sum(len(worker.running_tasks) for worker in self._alive)

    @property
    def alive(self) -> int:
        """How many were heard of."""
        return len(self._alive)

    @property
    def states(self) -> Counter[str]:
        """How many are in each state, the most first."""
        return Counter(dict(Counter(worker.state for worker in self.workers).most_common()))

    @property
    def cpu(self) -> float | None:
        """The mean share of the processors that they use."""
        return _mean([worker.cpu for worker in self._alive if worker.cpu is not None])

    @property
    def memory(self) -> float | None:
        """The mean share of the memory that they use."""
        return _mean([worker.memory for worker in self._alive if worker.memory is not None])

    @property
    def _alive(self) -> list[RegisteredWorker]:
        return [worker for worker in self.workers if worker.state not in NO_LONGER]


@dataclass(frozen=True, slots=True, kw_only=True)
class Roll:
    """All workers, and the page of those of them that are meant."""

    everyone: Group
    groups: Sequence[Group]
    page: ListPage[RegisteredWorker]

    @property
    def is_long(self) -> bool:
        """Whether the groups are shown before the workers."""
        return len(self.everyone.workers) > PAGE and len(self.groups) > 1


def make_roll(workers: Sequence[RegisteredWorker], roles: str | None, state: str | None, page: int) -> Roll:
    """Sort and group workers, and pick the page of those with these roles and this state."""
    known = sorted(workers, key=lambda worker: (roles_of(worker), _as_people_count(worker.name), worker.id))
    selected = [each for each in known if roles in {None, roles_of(each)} and state in {None, each.state}]
    return Roll(everyone=Group(roles=None, workers=known), groups=_grouped(known), page=page_of(selected, page, PAGE))


def roles_of(worker: RegisteredWorker) -> str:
    """The roles that a worker serves, in words."""
    return ", ".join(sorted(worker.roles)) or "every role"


def clock_off(worker: RegisteredWorker) -> str | None:
    """How far a worker's clock is off, where that is worth a word."""
    ahead = worker.clock_ahead
    if ahead is None or abs(ahead) < CLOCK_OFF:
        return None
    return f"its clock is {abs(ahead):.1f} s {'ahead' if ahead > 0 else 'behind'}"


def _grouped(workers: Sequence[RegisteredWorker]) -> list[Group]:
    by_roles: dict[str, list[RegisteredWorker]] = defaultdict(list)
    for worker in workers:
        by_roles[roles_of(worker)].append(worker)
    return [Group(roles=roles, workers=members) for roles, members in by_roles.items()]


def _as_people_count(name: str) -> list[tuple[int, str]]:
    """Sort by the numbers in a name: `worker-2` stands before `worker-10`."""
    pieces = NUMBERS.split(name)
    return [(int(piece) if index % 2 else 0, piece) for index, piece in enumerate(pieces)]


def _mean(shares: Sequence[float]) -> float | None:
    return sum(shares) / len(shares) if shares else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaStep:
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
    fewer: ReplicaStep | None = None
    more: ReplicaStep | None = None
    chosen: ReplicaStep | None = None


async def replica_card(scaling: Scaling, chosen: int | None) -> ReplicaCard:
    """Ask the cluster; `chosen` is the number that somebody thinks of."""
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
        chosen=None if chosen is None else await step_to(scaling, seen, chosen),
    )


async def step_to(scaling: Scaling, seen: Replicas, replicas: int) -> ReplicaStep | None:
    """The way from the replicas seen to another number of them; None where it is theirs, or out of bounds."""
    if not seen.least <= replicas <= seen.most or replicas == seen.desired:
        return None
    return ReplicaStep(previous=seen.desired, replicas=replicas, leaving=await scaling.leaving(seen, replicas))


def _does(work: PodWork) -> str:
    if not work.worker_ids:
        return "no worker on the roll"
    return f"runs {work.running} {'task' if work.running == 1 else 'tasks'}" if work.running else "idle"
