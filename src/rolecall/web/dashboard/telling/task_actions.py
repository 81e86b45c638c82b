"""What can be done with a task as it stands, and what is asked before."""

from __future__ import annotations

from dataclasses import dataclass

from rolecall.model.states import TaskState
from rolecall.model.tasks import TaskSummary

__all__ = ["TaskAction", "actions_on"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAction:
    """A button below a task's address; one that needs words leads to a page that asks for them.

    `asks` says that its route asks first.
    """

    label: str
    path: str
    icon: str
    tone: str = ""
    asks: bool = False
    needs_words: bool = False


DELETE = TaskAction(label="Delete", path="delete", icon="delete", tone="danger", asks=True)


def actions_on(task: TaskSummary) -> list[TaskAction]:
    """List what the task's state allows, the most likely wish first."""
    return [*_while_finished(task), *_while_open(task), DELETE]


def _while_finished(task: TaskSummary) -> list[TaskAction]:
    if task.state not in {TaskState.FAILED, TaskState.CANCELLED}:
        return []
    return [TaskAction(label="Retry", path="retry", icon="retry", tone="primary")]


def _while_open(task: TaskSummary) -> list[TaskAction]:
    if task.is_finished:
        return []
    soon = [TaskAction(label="Run now", path="trigger", icon="play", tone="primary")]
    return [
        *(soon if task.status in {"scheduled", "retrying"} else []),
        TaskAction(label="Complete…", path="complete", icon="check", needs_words=True),
        TaskAction(label="Fail…", path="fail", icon="warn", needs_words=True),
        TaskAction(label="Token…", path="token", icon="edit", needs_words=True),
        *([] if task.cancel_requested_at else [TaskAction(label="Cancel", path="cancel", icon="cancel", asks=True)]),
    ]
