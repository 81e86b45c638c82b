"""The page of workers: the registry, in a stable order and in groups if it is long, and the number of replicas."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rolecall.model.errors import ScalingError
from rolecall.model.operator.insight import RegisteredWorker
from rolecall.model.operator.scaling import PodWork, Replicas
from rolecall.service.scaling import Scaling
from rolecall.web.dashboard.presenters.tables import (
    ROWS_A_PAGE,
    Column,
    SortedTable,
    TableQuery,
    natural_key,
    sorted_table,
)

# The states that need attention come first.
STATES = ("dead", "silent", "backing off", "leaving", "draining", "drained", "busy", "idle", "stopped")
GONE_STATES = frozenset({"dead", "stopped", "silent"})
# A larger clock offset is visible in the times of log lines. Rolecall itself uses the database's clock.
CLOCK_OFF = 2.0
# Seconds to wait for the cluster before the page is shown without it.
PATIENCE = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Workers that serve the same roles; `roles` is None for all workers together."""

    roles: str | None
    workers: Sequence[RegisteredWorker]

    @property
    def slots(self) -> int:
        """The slots of the workers that are alive."""
        return sum(worker.slots for worker in self._alive)

    @property
    def used(self) -> int:
        """The number of running tasks."""
        return sum(len(worker.running_tasks) for worker in self._alive)

    @property
    def alive(self) -> int:
        """The number of workers that are alive."""
        return len(self._alive)

    @property
    def states(self) -> Counter[str]:
        """The number of workers in each state, most frequent first."""
        return Counter(dict(Counter(worker.state for worker in self.workers).most_common()))

    @property
    def cpu(self) -> float | None:
        """The mean CPU usage, as a share of 1."""
        return _mean([worker.cpu for worker in self._alive if worker.cpu is not None])

    @property
    def memory(self) -> float | None:
        """The mean memory usage, as a share of 1."""
        return _mean([worker.memory for worker in self._alive if worker.memory is not None])

    @property
    def _alive(self) -> list[RegisteredWorker]:
        return [worker for worker in self.workers if worker.state not in GONE_STATES]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerList:
    """All workers, their groups, the largest first, and one page of those that match."""

    everyone: Group
    groups: Sequence[Group]
    table: SortedTable[RegisteredWorker]

    @property
    def is_long(self) -> bool:
        """Whether groups are shown before the workers."""
        return len(self.everyone.workers) > ROWS_A_PAGE and len(self.groups) > 1


def make_worker_list(
    workers: Sequence[RegisteredWorker],
    roles: str | None,
    state: str | None,
    query: TableQuery,
    ids: Collection[int] = (),
) -> WorkerList:
    """Sort and group workers, and return the page of those with the roles, the state and the ids, if given."""
    chosen = [each for each in workers if not ids or each.id in ids]
    selected = [each for each in chosen if roles in {None, roles_of(each)} and state in {None, each.state}]
    groups = sorted(_group_workers(workers), key=lambda group: (-len(group.workers), natural_key(group.roles or "")))
    return WorkerList(
        everyone=Group(roles=None, workers=workers),
        groups=groups,
        table=sorted_table(COLUMNS, selected, query, name=lambda worker: worker.name, default="state"),
    )


def fullest(worker: RegisteredWorker) -> float:
    """Return the largest used share of a worker's slots, processors and memory."""
    return max(len(worker.running_tasks) / worker.slots, worker.cpu or 0, worker.memory or 0)


def roles_of(worker: RegisteredWorker) -> str:
    """Return the roles of a worker as text."""
    return ", ".join(sorted(worker.roles)) or "all roles"


def clock_off(worker: RegisteredWorker) -> str | None:
    """Describe a worker's clock offset; None if it is small."""
    ahead = worker.clock_ahead
    if ahead is None or abs(ahead) < CLOCK_OFF:
        return None
    return f"its clock is {abs(ahead):.1f} s {'ahead' if ahead > 0 else 'behind'}"


def _group_workers(workers: Sequence[RegisteredWorker]) -> list[Group]:
    by_roles: dict[str, list[RegisteredWorker]] = defaultdict(list)
    for worker in workers:
        by_roles[roles_of(worker)].append(worker)
    return [Group(roles=roles, workers=members) for roles, members in by_roles.items()]


COLUMNS: Sequence[Column[RegisteredWorker]] = (
    Column(
        name="worker", label="Worker", key=lambda worker: natural_key(worker.name), is_number=False, smallest_first=True
    ),
    Column(
        name="state",
        label="State",
        key=lambda worker: STATES.index(worker.state),
        is_number=False,
        smallest_first=True,
    ),
    Column(name="tasks", label="Running tasks", key=lambda worker: len(worker.running_tasks), is_number=False),
    Column(name="load", label="Load", key=fullest, is_number=False),
    Column(name="roles", label="Roles", key=roles_of, is_number=False, smallest_first=True),
    Column(
        name="heartbeat",
        label="Last heartbeat",
        key=lambda worker: worker.heartbeat_at,
        is_number=False,
        smallest_first=True,
    ),
)


def _mean(shares: Sequence[float]) -> float | None:
    return sum(shares) / len(shares) if shares else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaStep:
    """A change of the number of replicas, and the pods that would stop."""

    previous: int
    replicas: int
    leaving: Sequence[PodWork]

    @property
    def words(self) -> str:
        """The consequences as a sentence."""
        more = self.replicas - self.previous
        if more > 0:
            return f"{more} more {'pod' if more == 1 else 'pods'}."
        if not self.leaving:
            return "A pod that is not ready stops."
        names = ", ".join(f"{work.pod} ({_describe_work(work)})" for work in self.leaving)
        verb = "stops" if len(self.leaving) == 1 else "stop"
        return f"{names} {verb}. Running tasks are finished or returned."


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaCard:
    """The number of replicas, or the reason why it is unknown."""

    replicas: Replicas | None = None
    reason: str = ""
    fewer: ReplicaStep | None = None
    more: ReplicaStep | None = None
    chosen: ReplicaStep | None = None


async def replica_card(scaling: Scaling, chosen: int | None) -> ReplicaCard:
    """Query the cluster; `chosen` is a number of replicas to preview."""
    try:
        async with asyncio.timeout(PATIENCE):
            seen = await scaling.replicas()
    except TimeoutError:
        return ReplicaCard(reason=f"the cluster did not respond within {PATIENCE} s")
    except ScalingError as error:
        return ReplicaCard(reason=str(error))
    return ReplicaCard(
        replicas=seen,
        fewer=await step_to(scaling, seen, seen.desired - 1),
        more=await step_to(scaling, seen, seen.desired + 1),
        chosen=None if chosen is None else await step_to(scaling, seen, chosen),
    )


async def step_to(scaling: Scaling, seen: Replicas, replicas: int) -> ReplicaStep | None:
    """Return the step from the current replicas to another number; None if it is the same or out of range."""
    if not seen.least <= replicas <= seen.most or replicas == seen.desired:
        return None
    return ReplicaStep(previous=seen.desired, replicas=replicas, leaving=await scaling.leaving_pods(seen, replicas))


def _describe_work(work: PodWork) -> str:
    if not work.worker_ids:
        return "no registered worker"
    return f"runs {work.running} {'task' if work.running == 1 else 'tasks'}" if work.running else "idle"
