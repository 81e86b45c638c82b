"""Helpers for the causes that explain why a task does not run."""

from __future__ import annotations

from rolecall.model.operator.why import Cause
from rolecall.service.services import Services


async def kinds(services: Services, task_id: int) -> list[str]:
    return [cause.kind.value for cause in (await services.tasks.why(task_id)).causes]


async def only(services: Services, task_id: int) -> Cause:
    """Return the only cause."""
    [cause] = (await services.tasks.why(task_id)).causes
    return cause
