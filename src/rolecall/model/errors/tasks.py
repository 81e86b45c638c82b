"""Errors about one task, or one chain of them."""

from __future__ import annotations

from rolecall.model.errors.root import RolecallError


class TaskError(RolecallError):
    """Something about one task."""


class TaskNotFound(TaskError):
    """No task, open or finished, has this id."""

    def __init__(self, problem: str = "", *, task_id: int | None = None) -> None:
        super().__init__(problem or f"there is no task {task_id}")
        self.task_id = task_id


class InvalidTask(TaskError):
    """The task cannot be stored as it is; `index` is its place in the batch, where known."""

    def __init__(self, problem: str, *, index: int | None = None) -> None:
        super().__init__(problem if index is None else f"task {index}: {problem}")
        self.index = index
        self.detail = problem

    def moved_by(self, offset: int) -> InvalidTask:
        """Return the same error for a batch that stands `offset` places further on."""
        return InvalidTask(self.detail, index=None if self.index is None else self.index + offset)


class DuplicateTask(TaskError):
    """A task stands already with a dedupe_key that was to be new; `task_id` is that task's."""

    def __init__(self, problem: str, *, task_id: int | None = None) -> None:
        super().__init__(problem)
        self.task_id = task_id


class NeedsCircle(TaskError):
    """Through what it needs, or through its parent, the task would wait for itself."""


class ParentNotOpen(TaskError):
    """The parent has ended, has not begun, or has children of the other kind (serial or concurrent)."""


class LeaseLost(TaskError):
    """A claim no longer owns its task."""

    def __init__(self, *, task_id: int, reason: str) -> None:
        super().__init__(f"the claim on task {task_id} is lost: {reason}")
        self.task_id = task_id
        self.reason = reason


class TaskNotRetryable(TaskError):
    """The task cannot be put back: it is still open, it completed, or a newer one stands for it."""

    def __init__(self, *, task_id: int, outcome: str) -> None:
        super().__init__(f"task {task_id} cannot be retried: {outcome}")
        self.task_id = task_id
        self.outcome = outcome


class TaskFinished(TaskError):
    """The task has ended already: nobody can end it another way."""

    def __init__(self, *, task_id: int) -> None:
        super().__init__(f"task {task_id} has ended already")
        self.task_id = task_id


class TaskNotTriggerable(TaskError):
    """The task cannot be made due now: only a pending one can."""

    def __init__(self, problem: str, *, task_id: int | None = None) -> None:
        super().__init__(problem)
        self.task_id = task_id


class InvalidToken(TaskError):
    """Nobody's task is ended by this token: it is unknown, used or expired, or the task has ended."""


class WaitTimeout(TaskError):
    """The task, or the chain that begins with it, did not finish within the time that the caller was ready to wait."""

    def __init__(self, *, task_id: int, seconds: float, chain: bool = False) -> None:
        super().__init__(f"{'chain' if chain else 'task'} {task_id} did not finish within {seconds:g} s")
        self.task_id = task_id
        self.seconds = seconds


class ChainError(RolecallError):
    """Something about one chain."""


class ChainNotFound(ChainError):
    """No chain, open or ended, begins with a task of this id."""

    def __init__(self, problem: str = "", *, chain_id: int | None = None) -> None:
        super().__init__(problem or f"there is no chain {chain_id}")
        self.chain_id = chain_id


class ChainNeeded(ChainError):
    """The chain cannot be deleted: an open task that would stay needs it, or waits for it as its child."""

    def __init__(self, problem: str, *, chain_id: int | None = None, task_id: int | None = None) -> None:
        super().__init__(problem)
        self.chain_id = chain_id
        self.task_id = task_id


class ChainLonger(ChainError):
    """The task cannot be deleted by itself: it is a part of a longer chain."""

    def __init__(self, problem: str, *, chain_id: int | None = None, task_id: int | None = None) -> None:
        super().__init__(problem)
        self.chain_id = chain_id
        self.task_id = task_id


class ChainFinished(ChainError):
    """The chain has ended already: nobody can complete it."""

    def __init__(self, *, chain_id: int) -> None:
        super().__init__(f"chain {chain_id} has ended already")
        self.chain_id = chain_id
