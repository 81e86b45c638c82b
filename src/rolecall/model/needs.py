"""What a task may need before it runs: other tasks, or whole chains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from rolecall.model.states import TaskState

if TYPE_CHECKING:
    from rolecall.model.tasks import Enqueued, NewTask

__all__ = ["Dependent", "Need", "NeedRule", "Needed"]

NeedRule = Literal["fail", "ignore"]


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that must have finished first.

        report.task(day="monday").options(needs=[sales, Need(stock, name="stock", on_failure="ignore")])

    `task` is an id, what an enqueue answered, or a task that stands earlier in the same batch. With
    `chain=True` the whole chain that begins with it is needed. Where what is needed fails or is cancelled,
    the task that needs it fails too, or runs all the same (`ignore`).
    """

    task: int | Enqueued | NewTask
    name: str | None = None
    chain: bool = False
    on_failure: NeedRule = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """What became of one need, in the order in which they were declared.

    `outcome` is None while it is open. For a chain, result and error are those of its last task. A result that could
    not be stored raises ResultNotStored where it is used.
    """

    name: str | None
    task_id: int
    chain: bool
    outcome: TaskState | None
    handler: str | None
    result: Any
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependent:
    """A task that needs another, or a whole chain; `outcome` is None while that is open, so that it waits for it."""

    task_id: int
    chain_id: int
    role: str
    handler: str
    state: TaskState
    name: str | None
    needed_id: int
    chain: bool
    outcome: TaskState | None
