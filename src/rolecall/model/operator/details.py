"""All details of one task, and the outline of its tree or chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rolecall.model.chains import ChainNeed, ChainPart, ChainSummary
from rolecall.model.operator.insight import Attempt, TimelineEntry
from rolecall.model.operator.pages import Page
from rolecall.model.outcomes import why_unstored
from rolecall.model.states import TaskState
from rolecall.model.tasks import Dependent, TaskSummary


@dataclass(frozen=True, slots=True)
class Document:
    """A payload or result and its size as text in bytes. The value is `left_out` if it is too long."""

    size: int
    value: Any
    left_out: bool

    @property
    def unstored(self) -> str | None:
        """The reason why a result was not stored; None if it was."""
        return why_unstored(self.value)


@dataclass(frozen=True, slots=True)
class NeedOutcome:
    """A need without the result of the needed task; `outcome` is None while that is open."""

    name: str | None
    task_id: int
    chain: bool
    outcome: TaskState | None
    handler: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class Maker:
    """The schedule that enqueued a task."""

    id: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A task's children from all of its runs: their numbers by state, and a page of them in the order of spawning."""

    numbers: Mapping[TaskState, int]
    page: Page[TaskSummary]

    @property
    def number(self) -> int:
        return sum(self.numbers.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDetail:
    """A task and everything related to it, as of `at` on the database's clock.

    `path` leads from the root to the parent. The timeline and the attempts (at most fifty) are the latest ones;
    `earlier` is true if the timeline has more entries. `result` is None until there is one.
    """

    at: datetime
    task: TaskSummary
    payload: Document
    result: Document | None
    path: list[Ancestor]
    maker: Maker | None
    needs: list[NeedOutcome]
    children: Family
    timeline: list[TimelineEntry]
    earlier: bool
    attempts: list[Attempt]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlinePhase:
    """A task's children of one handler, counted by state. `named` contains the ids of those that are shown
    individually.

    They are in the order of spawning; if there are too many to show, failed ones come first. `depth` is that of the
    parent relative to the outline's root, and `first_id` the id of the oldest child.
    """

    parent_id: int
    depth: int
    handler: str
    number: int
    first_id: int
    states: Mapping[TaskState, int]
    named: Sequence[int]

    @property
    def folded(self) -> bool:
        """True if some of the children are not named."""
        return len(self.named) < self.number


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedWithin:
    """A need between two tasks of an outline; `outcome` is None while the needed task is open."""

    task_id: int
    needed_id: int
    chain: bool
    outcome: TaskState | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedOfGroup:
    """A need for a folded child of `parent_id`, which belongs to the group of its handler and state."""

    task_id: int
    needed_id: int
    parent_id: int
    handler: str
    state: TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class Ancestor:
    """A task above another one in its tree."""

    id: int
    handler: str
    state: TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandedPhase:
    """A request to name all children of one handler of a task, even if there are many."""

    parent_id: int
    handler: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A task with its ancestors (the topmost first) and its descendants; `tasks` contains all that are named.

    `preceding` and `following` are the tasks before and after it in its chain, in order; if there are many, only the
    last ones of the chain.
    """

    root: TaskSummary
    ancestors: Sequence[Ancestor]
    phases: Sequence[OutlinePhase]
    tasks: Mapping[int, TaskSummary]
    needs: Sequence[NeedWithin]
    following: Sequence[TaskSummary] = ()
    preceding: Sequence[TaskSummary] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SiblingGroup:
    """A task's children of one handler and state. Times are the earliest and the latest of all.

    `finished_at` is None while one of them is open. `slowest_id` is the child that has run for the longest time; if
    none has started, it is the oldest one.
    """

    parent_id: int
    handler: str
    state: TaskState
    number: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    slowest_id: int
    slowest_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Relatives:
    """A task with its descendants and its chain, as of `at` on the database's clock.

    `groups` are the children of the phases that are folded, and `attempts` those of tasks that are shown individually.
    `needs` are those of tasks that are shown individually, and of the slowest task of each group, for siblings of
    folded children.
    """

    at: datetime
    outline: Outline
    groups: Sequence[SiblingGroup]
    needs: Sequence[NeedOfGroup]
    attempts: Mapping[int, Sequence[Attempt]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainOutline:
    """A chain, shortened to the size of a page.

    `parts` are some of its tasks in order, by default the last ones. `needs` and `children` are those of these tasks,
    and `dependents` the tasks that need the chain or one of its tasks. `more_needs` and `more_dependents` are true if
    there are others.
    """

    chain: ChainSummary
    parts: Sequence[ChainPart]
    children: Sequence[OutlinePhase]
    needs: Sequence[ChainNeed]
    more_needs: bool
    dependents: Sequence[Dependent]
    more_dependents: bool
