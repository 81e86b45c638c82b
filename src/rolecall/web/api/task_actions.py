"""What can be done with tasks over HTTP: retry, cancel, complete, fail, trigger, hand out a token, delete."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from rolecall.web.dependencies import Operates
from rolecall.web.parameters import Body, Id, PathId, Result
from rolecall.web.problems import refuses
from rolecall.web.views import Outcome

router = APIRouter(prefix="/api/tasks", tags=["tasks"])

LONGEST_ERROR = 8_000
MOST = 1_000
WEEK = 7 * 86_400.0
DECADE = 10 * 365 * 86_400.0


class Failure(Body):
    """Why a task fails."""

    error: Annotated[str, Field(min_length=1, max_length=LONGEST_ERROR)]


class Lifetime(Body):
    """How many seconds a token lives."""

    seconds: Annotated[float, Field(gt=0, le=DECADE)] = WEEK


class Token(Body):
    """A secret that ends the task once, from outside; nobody can read it again."""

    token: str


class Ids(Body):
    """Which tasks."""

    ids: Annotated[list[Id], Field(max_length=MOST)]


class Due(Body):
    """Since when a task is due."""

    id: int
    scheduled_for: datetime


@router.post("/trigger", responses=refuses(404, 409))
async def trigger_tasks(which: Ids, services: Operates) -> list[Due]:
    """Make pending tasks due now, all or none; the answers come in the order of the ids."""
    due = await services.tasks.trigger(which.ids)
    return [Due(id=task_id, scheduled_for=moment) for task_id, moment in due.items()]


@router.post("/{task_id:int}/trigger", responses=refuses(409))
async def trigger_task(task_id: PathId, services: Operates) -> Due:
    """Make a pending task due now."""
    return Due(id=task_id, scheduled_for=(await services.tasks.trigger([task_id]))[task_id])


@router.post("/{task_id:int}/retry", responses=refuses(409))
async def retry_task(task_id: PathId, services: Operates) -> Outcome:
    """Put a failed or cancelled task back, under its old id."""
    return Outcome(id=task_id, outcome=await services.tasks.retry_one(task_id))


@router.post("/{task_id:int}/cancel", responses=refuses(409))
async def cancel_task(task_id: PathId, services: Operates) -> Outcome:
    """Cancel a task, with what is open below it; of a running one it is requested, and its handler must stop."""
    return Outcome(id=task_id, outcome=await services.tasks.cancel_one(task_id))


@router.post("/{task_id:int}/complete", responses=refuses(409))
async def complete_task(task_id: PathId, services: Operates, given: Result | None = None) -> Outcome:
    """Complete a task in any open state, without a worker."""
    return Outcome(id=task_id, outcome=await services.tasks.complete(task_id, given and given.result))


@router.post("/{task_id:int}/fail", responses=refuses(409))
async def fail_task(task_id: PathId, why: Failure, services: Operates) -> Outcome:
    """Fail a task in any open state, for good."""
    return Outcome(id=task_id, outcome=await services.tasks.fail(task_id, why.error))


@router.post("/{task_id:int}/token", status_code=201)
async def issue_token(task_id: PathId, services: Operates, lifetime: Lifetime | None = None) -> Token:
    """Make a secret that ends the task from outside, once; only its digest is stored."""
    seconds = (lifetime or Lifetime()).seconds
    return Token(token=(await services.tasks.issue_token(task_id, seconds)).reveal())


@router.delete("/{task_id:int}", status_code=204, responses=refuses(409))
async def delete_task(task_id: PathId, services: Operates) -> None:
    """Delete a task that is the whole of its chain, with what is below it, unless an open task needs it."""
    await services.tasks.delete_one(task_id)
