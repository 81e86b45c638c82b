"""Everything about one task at once, and the outline of the tree or chain that it is in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rolecall.model.chains import ChainNeed, ChainPart, ChainSummary
from rolecall.model.insight import Attempt, TimelineEntry
from rolecall.model.outcomes import why_unstored
from rolecall.model.pages import Page
from rolecall.model.states import TaskState
from rolecall.model.tasks import Dependent, TaskSummary

__all__ = [
    "Ancestor",
    "ChainOutline",
    "Document",
    "Family",
    "Maker",
    "NeedOutcome",
    "NeedWithin",
    "Outline",
    "OutlinePhase",
    "TaskDetail",
    "Unfolded",
]


@dataclass(frozen=True, slots=True)
class Document:
    """A payload or a result: how many bytes it takes as text, and its value; `left_out` where it was too long."""

    size: int
    value: Any
    left_out: bool

    @property
    def unstored(self) -> str | None:
        """Why a result could not be stored, if so."""
        return why_unstored(self.value)


@dataclass(frozen=True, slots=True)
class NeedOutcome:
    """A need, without the result of what is needed; `outcome` is None while that is open."""

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
    """A task's children, of all its runs: how many are in each state, and a page of them in the order of spawning."""

    numbers: Mapping[TaskState, int]
    page: Page[TaskSummary]

    @property
    def number(self) -> int:
        """How many children there are."""
        return sum(self.numbers.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDetail:
    """A task with what stands around it, as it was `at` a moment of the database's clock.

    `path` leads from the root to its parent. The timeline is its latest part; `earlier` says that there is more. The
    attempts are the latest fifty. `result` is None until there is one.
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
    """A task's children of one handler, counted by state; those in `named` are shown one by one.

    `named` is in their order; where they are many, those that failed come first. `depth` is that of the parent, counted
    from the outline's root; `first_id` is the oldest child's.
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
        """Whether some of the children are not named."""
        return len(self.named) < self.number


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedWithin:
    """A task of an outline that needs another one of it; `outcome` is None while that one is open."""

    task_id: int
    needed_id: int
    chain: bool
    outcome: TaskState | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ancestor:
    """A task that another one stands below."""

    id: int
    handler: str
    state: TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfolded:
    """Of which task the children of which handler are to be named, although they are many."""

    parent_id: int
    handler: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A task, what it stands below (the topmost first), and what stands below it; `tasks` are all that are named.

    `following` are tasks with which its chain goes on after it, in their order: the last ones, where they are many.
    """

    root: TaskSummary
    ancestors: Sequence[Ancestor]
    phases: Sequence[OutlinePhase]
    tasks: Mapping[int, TaskSummary]
    needs: Sequence[NeedWithin]
    following: Sequence[TaskSummary] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainOutline:
    """A chain in a size that fits on a page.

    `parts` are some of its tasks in their order, the last ones if not asked otherwise; `needs` what these need,
    `children` theirs, counted; `dependents` who needs the chain or a task of it. `more_needs` and `more_dependents`
    tell that there are others.
    """

    chain: ChainSummary
    parts: Sequence[ChainPart]
    children: Sequence[OutlinePhase]
    needs: Sequence[ChainNeed]
    more_needs: bool
    dependents: Sequence[Dependent]
    more_dependents: bool
