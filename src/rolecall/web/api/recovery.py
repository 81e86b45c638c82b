"""Recovery of stale tasks over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from rolecall.model.states import TaskState
from rolecall.web.dependencies import Operates
from rolecall.web.parameters import Body

router = APIRouter(prefix="/api/tasks", tags=["tasks"])


class Staleness(Body):
    """For how long nobody has renewed a task's lease; a lease that has not run out is never taken."""

    threshold_minutes: Annotated[float, Field(ge=0, le=525_600)] = 10


class RecoveredTask(BaseModel):
    """A task that was taken from a worker that is lost, and what became of it."""

    id: int
    state: TaskState


class Recovered(BaseModel):
    """Every task that was recovered."""

    recovered: int
    tasks: list[RecoveredTask]


@router.post("/recover-stale")
async def recover_stale(services: Operates, staleness: Staleness | None = None) -> Recovered:
    """Release the tasks of lost workers: pending again, or failed where no attempt is left.

    Workers do so every few seconds anyway, with no threshold but the lease.
    """
    minutes = (staleness or Staleness()).threshold_minutes
    became = await services.maintenance.rescue(silent_for=minutes * 60)
    tasks = [RecoveredTask(id=task_id, state=state) for task_id, state in became.items()]
    return Recovered(recovered=len(tasks), tasks=tasks)
