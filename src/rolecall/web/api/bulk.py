"""One action on all tasks that a filter finds, over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from rolecall.model.insight import BulkOutcome
from rolecall.web.dependencies import Operates
from rolecall.web.parameters import Body, BodyFilter, task_filter

router = APIRouter(prefix="/api/tasks", tags=["tasks"])

MOST_AT_ONCE = 10_000


class Many(Body):
    """Which tasks: the newest of those that the filter finds, which must say something."""

    filter: BodyFilter
    limit: Annotated[int, Field(ge=1, le=MOST_AT_ONCE)] = 1_000
    dry_run: bool = False


@router.post("/retry")
async def retry_tasks(many: Many, services: Operates) -> BulkOutcome:
    """Put back failed and cancelled tasks; `dry_run` only says which."""
    return await services.tasks.bulk("retry", task_filter(many.filter), limit=many.limit, dry_run=many.dry_run)


@router.post("/cancel")
async def cancel_tasks(many: Many, services: Operates) -> BulkOutcome:
    """Cancel tasks, with what is open below them; `dry_run` only says which."""
    return await services.tasks.bulk("cancel", task_filter(many.filter), limit=many.limit, dry_run=many.dry_run)


@router.post("/delete")
async def delete_tasks(many: Many, services: Operates) -> BulkOutcome:
    """Delete tasks, each with its chain and all below it, unless something open needs it; `dry_run` only says which."""
    return await services.tasks.bulk("delete", task_filter(many.filter), limit=many.limit, dry_run=many.dry_run)
