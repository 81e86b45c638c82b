"""Actions on tasks over HTTP: on one task, on all tasks that match a filter, and on stale ones.

A completion token finishes its task from outside; its bearer needs no other credentials.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Request
from pydantic import BaseModel, Field

from rolecall.model.audit import Actor
from rolecall.model.error_text import LONGEST_ERROR
from rolecall.model.operator.access import Caller, Scope
from rolecall.model.operator.insight import BulkAction, BulkOutcome
from rolecall.model.operator.logs import StackReport
from rolecall.model.states import TaskState
from rolecall.service.services import Services
from rolecall.web.dependencies import Operates
from rolecall.web.fields.aliases import Naming, SecondNames
from rolecall.web.fields.parameters import Body, Id, PathId, Rate, Result
from rolecall.web.fields.task_filters import BodyFilter, resolve_filter
from rolecall.web.fields.views import Outcome
from rolecall.web.http.problems import refuses
from rolecall.web.routers import api_router
from rolecall.web.state import address_of, state_of

router = api_router(prefix="/api/tasks", tags=["tasks"])
token_router = api_router(prefix="/api/tokens", tags=["tokens"])

MOST_IDS = 1_000
WEEK = 7 * 86_400.0
DECADE = 10 * 365 * 86_400.0
MOST_AT_ONCE = 10_000


class Failure(Body):
    """The error of a failed task."""

    error: Annotated[str, Field(min_length=1, max_length=LONGEST_ERROR)]


class Lifetime(Body):
    """The lifetime of a token in seconds."""

    seconds: Annotated[float, Field(gt=0, le=DECADE)] = WEEK


class Token(Body):
    """A completion token, which is returned only once and can be used only once."""

    token: str


class Ids(Body):
    """Ids of tasks."""

    ids: Annotated[list[Id], Field(max_length=MOST_IDS)]


class Due(Body):
    """A task and its due time."""

    id: int
    scheduled_for: datetime


@router.post("/trigger", responses=refuses(404, 409))
async def trigger_tasks(tasks: Ids, services: Operates) -> list[Due]:
    """Make pending tasks due now: all or none. The results are in the order of the ids."""
    due = await services.tasks.trigger(tasks.ids)
    return [Due(id=task_id, scheduled_for=moment) for task_id, moment in due.items()]


@router.post("/{task_id:int}/trigger", responses=refuses(409))
async def trigger_task(task_id: PathId, services: Operates) -> Due:
    """Make a pending task due now."""
    return Due(id=task_id, scheduled_for=(await services.tasks.trigger([task_id]))[task_id])


@router.post("/{task_id:int}/retry", responses=refuses(409))
async def retry_task(task_id: PathId, services: Operates) -> Outcome:
    """Make a failed or cancelled task pending again. Its id stays the same."""
    return Outcome(id=task_id, outcome=await services.tasks.retry_one(task_id))


@router.post("/{task_id:int}/cancel", responses=refuses(409))
async def cancel_task(task_id: PathId, services: Operates) -> Outcome:
    """Cancel a task, including everything open below it. For a running task, cancellation is only requested."""
    return Outcome(id=task_id, outcome=await services.tasks.cancel_one(task_id))


@router.post("/{task_id:int}/stack")
async def request_stack(task_id: PathId, services: Operates) -> StackReport:
    """Ask the worker of a running task for the current stack of its handler, and wait up to two seconds for it.

    If the outcome is `requested`, the stack can be read later.
    """
    return await services.tasks.request_stack(task_id)


@router.post("/{task_id:int}/complete", responses=refuses(409))
async def complete_task(task_id: PathId, services: Operates, given: Result | None = None) -> Outcome:
    """Complete an open task, without a worker."""
    return Outcome(id=task_id, outcome=await services.tasks.complete(task_id, given and given.result))


@router.post("/{task_id:int}/fail", responses=refuses(409))
async def fail_task(task_id: PathId, failure: Failure, services: Operates) -> Outcome:
    """Fail an open task permanently."""
    return Outcome(id=task_id, outcome=await services.tasks.fail(task_id, failure.error))


@router.post("/{task_id:int}/token", status_code=201)
async def issue_token(task_id: PathId, services: Operates, lifetime: Lifetime | None = None) -> Token:
    """Create a completion token for a task. Only its digest is stored."""
    seconds = (lifetime or Lifetime()).seconds
    return Token(token=(await services.tasks.issue_token(task_id, seconds)).reveal())


@router.delete("/{task_id:int}", status_code=204, response_model=None, responses=refuses(409))
async def delete_task(task_id: PathId, services: Operates) -> None:
    """Delete a task that is a whole chain, including everything below it, unless an open task needs it."""
    await services.tasks.delete_one(task_id)


class BulkRequest(Body):
    """A bulk action on the newest tasks that match the filter, which must not be empty."""

    filter: BodyFilter
    limit: Annotated[int, Field(ge=1, le=MOST_AT_ONCE)] = 1_000
    dry_run: bool = False


class BulkRetry(BulkRequest):
    """A bulk retry: all at once, or `rate` tasks a second."""

    rate: Rate | None = None


@router.post("/retry")
async def retry_tasks(request: BulkRetry, services: Operates, names: Naming) -> BulkOutcome:
    """Retry failed and cancelled tasks. `dry_run` only lists them."""
    return await _bulk(services, names, "retry", request, request.rate)


@router.post("/cancel")
async def cancel_tasks(request: BulkRequest, services: Operates, names: Naming) -> BulkOutcome:
    """Cancel tasks, including everything open below them. `dry_run` only lists them."""
    return await _bulk(services, names, "cancel", request)


@router.post("/delete")
async def delete_tasks(request: BulkRequest, services: Operates, names: Naming) -> BulkOutcome:
    """Delete tasks with their chains and everything below, unless an open task needs them. `dry_run` only lists
    them.
    """
    return await _bulk(services, names, "delete", request)


async def _bulk(
    services: Services, names: SecondNames, action: BulkAction, request: BulkRequest, rate: float | None = None
) -> BulkOutcome:
    tasks = await resolve_filter(request.filter, services, names)
    return await services.tasks.bulk(action, tasks, limit=request.limit, dry_run=request.dry_run, rate=rate)


class Staleness(Body):
    """The minimum time since a lease was renewed. Leases that have not expired are never taken."""

    threshold_minutes: Annotated[float, Field(ge=0, le=525_600)] = 10


class RecoveredTask(BaseModel):
    """A task that was taken from a lost worker, and its new state."""

    id: int
    state: TaskState


class Recovered(BaseModel):
    """All tasks that were recovered."""

    recovered: int
    tasks: list[RecoveredTask]


@router.post("/recover-stale")
async def recover_stale(services: Operates, staleness: Staleness | None = None) -> Recovered:
    """Release the tasks of lost workers. They become pending, or failed if no attempt is left.

    Workers do this every few seconds anyway, for every expired lease.
    """
    minutes = (staleness or Staleness()).threshold_minutes
    became = await services.maintenance.rescue(silent_for=minutes * 60)
    tasks = [RecoveredTask(id=task_id, state=state) for task_id, state in became.items()]
    return Recovered(recovered=len(tasks), tasks=tasks)


TokenText = Annotated[str, Field(min_length=1, max_length=200, json_schema_extra={"format": "password"})]


class TokenCompletion(Result):
    """A completion token and the result of its task."""

    token: TokenText


class TokenFailure(Failure):
    """A completion token and the error of its task."""

    token: TokenText


@token_router.post("/complete", responses=refuses(404))
async def complete_by_token(request: Request, shown: TokenCompletion) -> Outcome:
    """Complete the task of a token; 404 if the token is unknown, used or expired."""
    task_id = await _services(request).tasks.complete_by_token(shown.token, shown.result)
    return Outcome(id=task_id, outcome="completed")


@token_router.post("/fail", responses=refuses(404))
async def fail_by_token(request: Request, shown: TokenFailure) -> Outcome:
    """Fail the task of a token permanently; 404 if the token is unknown, used or expired."""
    return Outcome(id=await _services(request).tasks.fail_by_token(shown.token, shown.error), outcome="failed")


def _services(request: Request) -> Services:
    bearer = Actor(name="bearer of a token", via="api", origin=address_of(request))
    return state_of(request).services(Caller(actor=bearer, scope=Scope.READ))
