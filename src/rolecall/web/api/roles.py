"""Roles over HTTP: roles, pauses, handlers and capacity planning."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, Field

from rolecall.model.handlers import DeclaredHandler
from rolecall.model.operator.capacity import PlanRequest, RoleCapacity, RolePlan
from rolecall.model.operator.insight import DeclaredRole, Pause
from rolecall.model.operator.pages import Page
from rolecall.web.dependencies import Administers, Operates, Reads
from rolecall.web.fields.parameters import Body
from rolecall.web.http.problems import refuses
from rolecall.web.routers import api_router

router = api_router(prefix="/api/roles", tags=["roles"])
handler_router = api_router(prefix="/api/handlers", tags=["roles"])
capacity_router = api_router(prefix="/api/tasks/capacity", tags=["capacity"])


@router.get("")
async def list_roles(services: Reads) -> list[DeclaredRole]:
    """List all roles, by name."""
    return await services.roles.list()


class PauseRequest(Body):
    """The length of the pause in seconds; by default, until the role is resumed."""

    seconds: Annotated[float | None, Field(gt=0)] = None


class Resumed(BaseModel):
    """A role that is not paused, and whether it was."""

    role: str
    was_paused: bool


@router.post("/{name}/pause", responses=refuses(404))
async def pause_role(name: str, services: Operates, request: PauseRequest | None = None) -> Pause:
    """Pause a role: none of its tasks starts. Running tasks continue."""
    return await services.roles.pause(name, request.seconds if request else None)


@router.post("/{name}/resume", responses=refuses(404))
async def resume_role(name: str, services: Operates) -> Resumed:
    """End a role's pause."""
    return Resumed(role=name, was_paused=await services.roles.resume(name))


@handler_router.get("")
async def list_handlers(services: Reads) -> list[DeclaredHandler]:
    """List all handlers by role and name, with the JSON schemas of their payloads."""
    return await services.handlers.list()


@handler_router.get("/{name}", responses=refuses(404))
async def get_handler(name: str, services: Reads) -> DeclaredHandler:
    """Return one handler."""
    return await services.handlers.get(name)


class Revealed(BaseModel):
    """A handler, and whether it redacted more than its current declaration does."""

    handler: str
    revealed: bool


@handler_router.post("/{name}/reveal", responses=refuses(404))
async def reveal_handler(name: str, services: Administers) -> Revealed:
    """Stop redacting values that only earlier declarations of the handler redacted."""
    return Revealed(handler=name, revealed=await services.handlers.reveal(name))


Workers = Annotated[int | None, Query(ge=0, le=1_000_000, description="Plan for this number of workers.")]
TargetWait = Annotated[
    float | None,
    Query(gt=0, le=2_592_000, allow_inf_nan=False, description="The longest acceptable wait of a task in seconds."),
]
Hours = Annotated[int, Query(ge=1, le=24, description="The number of hours to plan ahead.")]


@capacity_router.get("")
async def list_capacity(services: Reads) -> Page[RoleCapacity]:
    """List each role's load, the throughput of its workers, and when its queue will be empty."""
    return Page(items=await services.capacity.list())


@capacity_router.get("/{role}", responses=refuses(404))
async def plan_role(
    role: str, services: Reads, workers: Workers = None, target_wait_s: TargetWait = None, hours: Hours = 8
) -> RolePlan:
    """Return how many workers a role needs, with a forecast, optionally for another number of workers."""
    question = PlanRequest(workers=workers, target_wait_s=target_wait_s, hours=hours)
    return await services.capacity.plan(role, question)
