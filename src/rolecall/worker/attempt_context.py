"""The part of a handler's context that is the same in the worker's process and in a child process."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import TYPE_CHECKING

from rolecall.model.handlers import TaskContext
from rolecall.model.tasks import ClaimedTask, IdempotencyKey

log = logging.getLogger("rolecall.task")


class AttemptContext(TaskContext):
    """One attempt at one task."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def task(self) -> ClaimedTask:
            """The task as it was claimed."""

    @property
    def task_id(self) -> int:
        return self.task.id

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1."""
        return self.task.attempt

    @property
    def max_attempts(self) -> int:
        """The number of attempts after which the task has failed; 0 means unlimited."""
        return self.task.max_attempts

    @property
    def scheduled_for(self) -> datetime:
        """The time that the task's schedule planned, the same for every attempt.

        A task that no schedule created has the time at which this attempt was due.
        """
        return self.task.planned_for

    @property
    def fence(self) -> int:
        """The fence of this claim, higher than that of every earlier claim of the task."""
        return self.task.fence

    @property
    def key(self) -> str | None:
        return self.task.key

    @property
    def role(self) -> str:
        return self.task.role

    @property
    def handler(self) -> str:
        return self.task.handler

    @property
    def chain_id(self) -> int:
        """The id of the task's chain, which is that of its first task."""
        return self.task.chain_id

    @property
    def idempotency_key(self) -> IdempotencyKey:
        """A key with which other systems recognize a repeated request: `id:step`.

        A step with several requests adds a suffix to each: `ctx.idempotency_key("mail")`.
        """
        return self.task.idempotency_key

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger whose records contain the task's id, handler and attempt."""
        task = self.task
        return logging.LoggerAdapter(log, {"task": task.id, "handler": task.handler, "attempt": task.attempt})
