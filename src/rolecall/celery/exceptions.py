"""Celery's exceptions for tasks and results."""

from __future__ import annotations

from rolecall.celery.missing import names_of
from rolecall.model.errors import Retry, WaitTimeout

__all__ = ["Ignore", "MaxRetriesExceededError", "Retry", "TaskFailed", "TaskRevokedError", "TimeoutError"]

__getattr__ = names_of("exceptions")
TimeoutError = WaitTimeout  # noqa: A001 - Celery's name for it


class Ignore(Exception):
    """Raised by a task to end as cancelled."""


class MaxRetriesExceededError(Exception):
    """Raised by `self.retry()` without a cause when no attempt is left."""


class TaskFailed(Exception):
    """Raised for the result of a failed task. The text is the task's error.

    Celery raises the task's own exception again. Here only its text is stored.
    """


class TaskRevokedError(Exception):
    """Raised for the result of a cancelled task."""
