"""A tree as far as a picture shows it: where a task has many children of one handler, they are a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rolecall.model.states import TaskState
from rolecall.model.tasks import TaskSummary

__all__ = ["Ancestor", "NeedWithin", "Outline", "OutlinePhase", "Unfolded"]


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
