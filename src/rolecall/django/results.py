"""Converts stored tasks to the results of `django.tasks`, including the outcome of each attempt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.tasks import Task as DjangoTask
from django.tasks import TaskResult, TaskResultStatus
from django.tasks.base import TaskError
from django.utils import timezone

from rolecall.model.insight import Attempt
from rolecall.model.states import TaskState
from rolecall.model.tasks import Task

__all__ = ["as_django_has_it", "asked_with", "aware", "error_of", "local"]

# The first line is "ValueError: why" or "shop.errors.Refused: why". Python's traceback follows.
RAISED = re.compile(r"(?P<kind>[A-Za-z_][\w.]*)(: | \((caused by|while handling) |\n|$)")
NEW_LINE = "\n"
# Errors that end an attempt from outside: a timeout, a lost worker.
NOT_RAISED = "rolecall.HandlerError"
ENDED = {
    TaskState.COMPLETED: TaskResultStatus.SUCCESSFUL,
    TaskState.FAILED: TaskResultStatus.FAILED,
    TaskState.CANCELLED: TaskResultStatus.FAILED,
}


def as_django_has_it(found: Task, attempts: Sequence[Attempt], task: DjangoTask) -> TaskResult:
    """Return the result. An attempt that was returned counts once."""
    began = list({each.attempt: each for each in attempts if each.started_at is not None}.values())
    payload = found.payload
    result = TaskResult(
        task=asked_with(task, found.priority, found.role, payload),
        id=str(found.id),
        status=_status(found),
        enqueued_at=local(found.created_at),
        started_at=local(began[0].started_at) if began else None,
        finished_at=local(found.finished_at),
        last_attempted_at=local(began[-1].started_at) if began else None,
        args=payload["args"],
        kwargs=payload["kwargs"],
        backend=payload["backend"],
        errors=[error_of(each.error) for each in began if each.error],
        worker_ids=[str(each.worker_id) for each in began],
    )
    object.__setattr__(result, "_return_value", found.result)
    return result


def asked_with(task: DjangoTask, priority: int, role: str, payload: dict[str, Any]) -> DjangoTask:
    """Return the task as it was enqueued."""
    said = payload.get("run_after")
    return task.using(
        priority=priority,
        queue_name=role,
        run_after=datetime.fromisoformat(said) if said else None,
        backend=payload["backend"],
    )


def error_of(text: str) -> TaskError:
    """Parse a stored error into its class and traceback."""
    raised = RAISED.match(text)
    kind = raised["kind"] if raised else NOT_RAISED
    return TaskError(
        exception_class_path=kind if "." in kind else f"builtins.{kind}",
        traceback=f"{text.partition(NEW_LINE)[2] or text}\n",
    )


def local(at: datetime | None) -> datetime | None:
    """Convert a datetime to the project's convention: naive if USE_TZ is off, like Django's own values."""
    return timezone.make_naive(at) if at is not None and not settings.USE_TZ and timezone.is_aware(at) else at


def aware(at: datetime | None) -> datetime | None:
    """Add the time zone to a datetime of the project."""
    return timezone.make_aware(at) if at is not None and timezone.is_naive(at) else at


def _status(found: Task) -> TaskResultStatus:
    if found.state is TaskState.RUNNING and found.started_at is not None:
        return TaskResultStatus.RUNNING
    return ENDED.get(found.state, TaskResultStatus.READY)
