"""Everything about one task at once, with what can be megabytes left out where it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rolecall.model.insight import TimelineEntry
from rolecall.model.outline import Ancestor
from rolecall.model.pages import Page
from rolecall.model.states import TaskState
from rolecall.model.tasks import TaskSummary
from rolecall.model.unstored import why_unstored

__all__ = ["Document", "Family", "Maker", "NeedOutcome", "TaskDetail"]


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

    `path` leads from the root to its parent. The timeline is its latest part; `earlier` says that there is more.
    `result` is None until there is one.
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
