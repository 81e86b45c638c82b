"""What a task's completion brings with it: tasks that are stored in the same transaction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rolecall.model.errors import InvalidTask

if TYPE_CHECKING:
    from rolecall.model.tasks import NewTask

__all__ = ["NextTasks"]


@dataclass(slots=True, kw_only=True)
class NextTasks:
    """Collects what a handler asks for, until its task is completed.

    Follow-ups start chains of their own; the continuation is the next task of this chain. Children make the
    task wait for them; siblings are children of the task's own parent. `gathers` says that the handler has a
    second step, for when the last child has finished.
    """

    follow_ups: list[NewTask] = field(default_factory=list)
    continuation: NewTask | None = None
    children: list[NewTask] = field(default_factory=list)
    siblings: list[NewTask] = field(default_factory=list)
    serial: bool = False
    gathers: bool = False

    def continue_with(self, task: NewTask) -> None:
        """Set the continuation; raise InvalidTask for a second one, or where there are children."""
        if self.continuation is not None:
            raise InvalidTask("a task is continued once: its chain goes on with one task")
        if self.children:
            raise InvalidTask("a task with children continues its chain in the step after them")
        self.continuation = task

    def spawn(self, tasks: tuple[NewTask, ...], *, serial: bool) -> None:
        """Add children; raise InvalidTask where others of the other kind, or a continuation, stand."""
        if self.children and self.serial != serial:
            raise InvalidTask("the children of one task are all serial or all concurrent")
        if self.continuation is not None and tasks:
            raise InvalidTask("a task with children continues its chain in the step after them")
        self.children.extend(tasks)
        self.serial = serial
