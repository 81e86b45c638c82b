"""What a task raises, and what asking for its result raises, under the names that Celery has for it."""

from __future__ import annotations

from rolecall.model.errors import Retry, WaitTimeout

__all__ = ["Ignore", "MaxRetriesExceededError", "Retry", "TaskFailed", "TaskRevokedError", "TimeoutError"]

TimeoutError = WaitTimeout  # noqa: A001 - Celery's name for it


class Ignore(Exception):
    """Raised by a task: it ends here, as cancelled."""


class MaxRetriesExceededError(Exception):
    """`self.retry()` was called without a cause, and no attempt is left."""


class TaskFailed(Exception):
    """The result of a task that failed was asked for; the text is the task's error.

    Celery raises the task's own exception again. Here it is gone: what the database keeps is its text.
    """


class TaskRevokedError(Exception):
    """The result of a task that was cancelled was asked for."""
