"""The progress of a tree, computed from the number of children of its open parents. Pure arithmetic, no extra table.

A **phase** is the set of a task's children of one handler. It is active while one of them runs or waits, and also
once everything before it has finished, even if it has not started: between two phases a tree is not shown as idle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from rolecall.model.states import TaskState

EXPECTED = "expected"
ALMOST = 0.99
BEFORE = 0


class Activity(StrEnum):
    """Whether something has not started, is under way, or has finished."""

    PENDING = "pending"
    ACTIVE = "active"
    IDLE = "idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildCount:
    """The number of children of one handler, spawned by one claim, in one state; `first_id` is the oldest child."""

    handler: str
    fence: int
    state: TaskState
    number: int
    first_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeParent:
    """A task with its children as counts. It is `begun` from its first step on, and `counting` while it waits for
    children.

    `facts` summarizes the infos of its children without children of their own.
    """

    id: int
    parent_id: int | None
    depth: int
    role: str
    handler: str
    state: TaskState
    begun: bool
    counting: bool
    serial: bool
    info: Mapping[str, Any] | None
    children_info: Mapping[str, Any] | None
    children: Sequence[ChildCount]
    facts: Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """The children of one handler; `completed` counts all finished ones, including failed ones.

    `total` is the expected number if the task's info contains one (`{"expected": {handler: number}}`) that exceeds
    the actual number. `fraction` goes from 0 to 1; `weight` is relative to other phases.
    """

    handler: str
    activity: Activity
    total: int
    completed: int
    failed: int
    running: int
    weight: float
    fraction: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The running child, and the progress of the deepest task below it with concurrent children."""

    id: int
    handler: str
    parent_id: int | None
    total: int | None
    completed: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of a task and everything below it; `fraction` is 1 only when the task has finished.

    `info` is the sum of the infos below it, overlaid with each parent's own info.
    """

    id: int
    role: str
    handler: str
    state: TaskState
    activity: Activity
    fraction: float
    step: Step | None
    phases: list[Phase]
    info: dict[str, Any]


def progress_of(parents: Sequence[TreeParent], weights: Mapping[str, float] | None = None) -> Progress:
    """Compute the progress of the first of these parents; handlers without a weight have weight 1."""
    root = parents[0]
    phases = _phases(root, _fractions(parents), weights or {})
    return Progress(
        id=root.id,
        role=root.role,
        handler=root.handler,
        state=root.state,
        activity=_activity_of(root),
        fraction=_whole(root, phases),
        step=_step(parents),
        phases=phases,
        info=_infos(parents)[root.id],
    )


def _activity_of(task: TreeParent) -> Activity:
    if task.state.is_finished:
        return Activity.IDLE
    return Activity.ACTIVE if task.begun else Activity.PENDING


def _whole(root: TreeParent, phases: Sequence[Phase]) -> float:
    if root.state.is_finished:
        return 1.0
    weight = sum(phase.weight for phase in phases)
    done = sum(phase.weight * phase.fraction for phase in phases)
    return min(round(done / weight, 4), ALMOST) if weight else 0.0


def _phases(root: TreeParent, inner: Mapping[int, Mapping[str, float]], weights: Mapping[str, float]) -> list[Phase]:
    broods = _by_handler(root)
    expected = {} if root.state.is_finished else _expected(root)
    phases: list[Phase] = []
    before = root.begun
    for handler in dict.fromkeys([*broods, *expected]):
        standing = broods.get(handler, [])
        total = max(sum(brood.number for brood in standing), expected.get(handler, 0))
        completed = _ended(standing)
        running = _number(standing, TaskState.RUNNING, TaskState.WAITING)
        done = (completed + inner.get(root.id, {}).get(handler, 0.0)) / total
        phases.append(
            Phase(
                handler=handler,
                activity=_activity(over=completed >= total, under_way=running > 0 or before),
                total=total,
                completed=completed,
                failed=_number(standing, TaskState.FAILED),
                running=running,
                weight=weights.get(handler, 1.0),
                fraction=round(done, 4),
            )
        )
        before = before and completed >= total
    return phases


def _activity(*, over: bool, under_way: bool) -> Activity:
    if over:
        return Activity.IDLE
    return Activity.ACTIVE if under_way else Activity.PENDING


def _by_handler(parent: TreeParent) -> dict[str, list[ChildCount]]:
    """Group the children of each handler's latest spawning claim, because a retried task spawns again."""
    latest: dict[str, list[ChildCount]] = {}
    for brood in parent.children:
        known = latest.setdefault(brood.handler, [])
        if known and brood.fence > known[0].fence:
            known.clear()
        if not known or brood.fence == known[0].fence:
            known.append(brood)
    return latest


def _expected(root: TreeParent) -> dict[str, int]:
    expected = (root.info or {}).get(EXPECTED)
    if not isinstance(expected, Mapping):
        return {}
    return {handler: number for handler, number in expected.items() if type(number) is int and number > 0}


def _ended(broods: Iterable[ChildCount]) -> int:
    return sum(brood.number for brood in broods if brood.state.is_finished)


def _number(broods: Iterable[ChildCount], *states: TaskState) -> int:
    return sum(brood.number for brood in broods if brood.state in states)


def _fractions(parents: Sequence[TreeParent]) -> dict[int, dict[str, float]]:
    """Add up, by parent and handler, the progress of open children that have children of their own."""
    inner: dict[int, dict[str, float]] = {}
    for task in reversed(parents):
        if task.parent_id is None:
            continue
        broods = [brood for standing in _by_handler(task).values() for brood in standing]
        total = sum(brood.number for brood in broods)
        done = (_ended(broods) + sum(inner.get(task.id, {}).values())) / total if total else 0.0
        above = inner.setdefault(task.parent_id, {})
        above[task.handler] = above.get(task.handler, 0.0) + min(done, ALMOST)
    return inner


def _step(parents: Sequence[TreeParent]) -> Step | None:
    under_way = (TaskState.RUNNING, TaskState.WAITING)
    at_work = [brood for brood in parents[0].children if brood.state in under_way]
    waiting = [brood for brood in parents[0].children if not brood.state.is_finished]
    if parents[0].state.is_finished or not waiting:
        return None
    current = min(at_work or waiting, key=lambda brood: brood.first_id)
    deepest = _deepest(parents)
    broods = [brood for standing in _by_handler(deepest).values() for brood in standing] if deepest else []
    return Step(
        id=current.first_id,
        handler=current.handler,
        parent_id=deepest.id if deepest else None,
        total=sum(brood.number for brood in broods) if deepest else None,
        completed=_ended(broods) if deepest else None,
    )


def _deepest(parents: Sequence[TreeParent]) -> TreeParent | None:
    concurrent = [task for task in parents if task.counting and not task.serial]
    return max(concurrent, key=lambda task: (task.depth, -task.id), default=None)


def _infos(parents: Sequence[TreeParent]) -> dict[int, dict[str, Any]]:
    """Compute each parent's info as if its children finished with their present infos."""
    infos: dict[int, dict[str, Any]] = {}
    below: dict[int, list[tuple[int, Mapping[str, Any]]]] = {}
    for task in reversed(parents):
        totals = sum_up(task.children_info or {}, task.facts, below.get(task.id, ())) if task.counting else {}
        infos[task.id] = {**(totals or task.children_info or {}), **(task.info or {})}
        if task.parent_id is not None:
            below.setdefault(task.parent_id, []).append((task.id, infos[task.id]))
    return infos


@dataclass(frozen=True, slots=True)
class Fact:
    """The values of one name in several children's infos: the sum if all are numbers, and the latest value with
    its id.
    """

    sum: float | None
    last: Any
    last_id: int

    def __add__(self, other: Fact) -> Fact:
        later = max(self, other, key=lambda fact: fact.last_id)
        total = None if self.sum is None or other.sum is None else self.sum + other.sum
        return Fact(total, later.last, later.last_id)

    @property
    def value(self) -> Any:
        return self.last if self.sum is None else self.sum


Facts = Mapping[str, Fact]


def sum_up(
    before: Mapping[str, Any], children: Facts, parents: Iterable[tuple[int, Mapping[str, Any]]]
) -> dict[str, Any]:
    """Combine the infos of earlier steps' children, of children without children, and of those that have children."""
    facts = dict(children)
    for task_id, info in [(BEFORE, before), *parents]:
        for name, value in info.items():
            fact = Fact(_numeric(value), value, task_id)
            facts[name] = facts[name] + fact if name in facts else fact
    return {name: fact.value for name, fact in facts.items()}


def _numeric(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
