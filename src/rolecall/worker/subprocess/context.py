"""What a handler in a process of its own is told about its attempt."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from rolecall.model.handlers import TaskContext
from rolecall.model.tasks import ClaimedTask, IdempotencyKey

__all__ = ["ProcessContext"]

log = logging.getLogger("rolecall.task")


@dataclass(frozen=True, slots=True)
class ProcessContext(TaskContext):
    """One attempt at one task, as a handler with `process=True` sees it: facts only.

    @app.task(process=True, timeout=60)
    def render(ctx: ProcessContext, pages: int) -> dict[str, int]: ...

    There is nothing to ask whether it must stop: the process is killed then. What follows from the task is
    enqueued by those who read its result.
    """

    task: ClaimedTask

    @property
    def task_id(self) -> int:
        return self.task.id

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""
        return self.task.attempt

    @property
    def max_attempts(self) -> int:
        """After how many attempts the task fails for good; 0 = never."""
        return self.task.max_attempts

    @property
    def fence(self) -> int:
        """The number of this claim: higher than that of every earlier claim on the task."""
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
        """The id of the first task of the chain that this one belongs to."""
        return self.task.chain_id

    @property
    def idempotency_key(self) -> IdempotencyKey:
        """Show this to systems outside, so that they recognise a request that an attempt repeats: `id:step`.

        A step with several requests calls it with a suffix for each: `ctx.idempotency_key("mail")`.
        """
        return self.task.idempotency_key

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger whose records carry the task's id, handler and attempt; the worker writes them."""
        task = self.task
        return logging.LoggerAdapter(log, {"task": task.id, "handler": task.handler, "attempt": task.attempt})
