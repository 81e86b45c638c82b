"""Capacity over HTTP: what roles have to do, and how many workers that takes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from rolecall.model.capacity import CapacityQuestion, RoleCapacity, RolePlan
from rolecall.model.pages import Page
from rolecall.web.access import Reads
from rolecall.web.problems import refuses

router = APIRouter(prefix="/api/tasks/capacity", tags=["capacity"])

Workers = Annotated[int | None, Query(ge=0, le=1_000_000, description="Reckon with so many workers.")]
TargetWait = Annotated[
    float | None, Query(gt=0, le=2_592_000, allow_inf_nan=False, description="Seconds that a task may wait.")
]
Hours = Annotated[int, Query(ge=1, le=24, description="How many hours to look ahead.")]


@router.get("")
async def list_capacity(services: Reads) -> Page[RoleCapacity]:
    """What each role has to do, what its workers manage, and when it will be done."""
    return Page(items=await services.capacity.list())


@router.get("/{role}", responses=refuses(404))
async def plan_role(
    role: str, services: Reads, workers: Workers = None, target_wait_s: TargetWait = None, hours: Hours = 8
) -> RolePlan:
    """How many workers a role needs, and how it goes on, also with another number of workers."""
    question = CapacityQuestion(workers=workers, target_wait_s=target_wait_s, hours=hours)
    return await services.capacity.plan(role, question)
