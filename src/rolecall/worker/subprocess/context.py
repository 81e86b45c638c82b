"""The context of a handler that runs in a child process."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from rolecall.model.handlers import TaskContext
from rolecall.model.tasks import ClaimedTask, IdempotencyKey

log = logging.getLogger("rolecall.task")


@dataclass(frozen=True, slots=True)
class ProcessContext(TaskContext):
    """One attempt at one task, as a handler with `process=True` sees it.

        @app.task(process=True, timeout=60)
        def render(ctx: ProcessContext, pages: int) -> dict[str, int]: ...

    The handler cannot check whether it must stop, because its process is killed then. It cannot add tasks either:
    let the reader of its result enqueue them.
    """

    task: ClaimedTask

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
        """A logger whose records contain the task's id, handler and attempt. The worker writes them."""
        task = self.task
        return logging.LoggerAdapter(log, {"task": task.id, "handler": task.handler, "attempt": task.attempt})
