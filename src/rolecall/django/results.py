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

from rolecall.model.operator.insight import Attempt
from rolecall.model.states import TaskState
from rolecall.model.tasks import Task

# The first line is "ValueError: why" or "shop.errors.Refused: why". Python's traceback follows.
ERROR_LINE = re.compile(r"(?P<kind>[A-Za-z_][\w.]*)(: | \((caused by|while handling) |\n|$)")
NEW_LINE = "\n"
# Errors that end an attempt from outside: a timeout, a lost worker.
OTHER_ERROR = "rolecall.HandlerError"
FINAL_STATUSES = {
    TaskState.COMPLETED: TaskResultStatus.SUCCESSFUL,
    TaskState.FAILED: TaskResultStatus.FAILED,
    TaskState.CANCELLED: TaskResultStatus.FAILED,
}


def to_django_result(stored: Task, attempts: Sequence[Attempt], task: DjangoTask) -> TaskResult:
    """Return the result. An attempt that was returned counts once."""
    started_attempts = list({each.attempt: each for each in attempts if each.started_at is not None}.values())
    payload = stored.payload
    result = TaskResult(
        task=with_options(task, stored.priority, stored.role, payload),
        id=str(stored.id),
        status=_status(stored),
        enqueued_at=local(stored.created_at),
        started_at=local(started_attempts[0].started_at) if started_attempts else None,
        finished_at=local(stored.finished_at),
        last_attempted_at=local(started_attempts[-1].started_at) if started_attempts else None,
        args=payload["args"],
        kwargs=payload["kwargs"],
        backend=payload["backend"],
        errors=[error_of(each.error) for each in started_attempts if each.error],
        worker_ids=[str(each.worker_id) for each in started_attempts],
    )
    object.__setattr__(result, "_return_value", stored.result)
    return result


def with_options(task: DjangoTask, priority: int, role: str, payload: dict[str, Any]) -> DjangoTask:
    """Return the task as it was enqueued."""
    run_after = payload.get("run_after")
    return task.using(
        priority=priority,
        queue_name=role,
        run_after=datetime.fromisoformat(run_after) if run_after else None,
        backend=payload["backend"],
    )


def error_of(text: str) -> TaskError:
    """Parse a stored error into its class and traceback."""
    match = ERROR_LINE.match(text)
    kind = match["kind"] if match else OTHER_ERROR
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


def _status(stored: Task) -> TaskResultStatus:
    if stored.state is TaskState.RUNNING and stored.started_at is not None:
        return TaskResultStatus.RUNNING
    return FINAL_STATUSES.get(stored.state, TaskResultStatus.READY)
