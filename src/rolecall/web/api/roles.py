"""Roles over HTTP: their handlers, their pauses, and how many workers they need."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from rolecall.model.capacity import CapacityQuestion, RoleCapacity, RolePlan
from rolecall.model.handlers import DeclaredHandler
from rolecall.model.insight import DeclaredRole, Pause
from rolecall.model.pages import Page
from rolecall.web.dependencies import Administers, Operates, Reads
from rolecall.web.parameters import Body
from rolecall.web.problems import refuses

router = APIRouter(prefix="/api/roles", tags=["roles"])
handler_router = APIRouter(prefix="/api/handlers", tags=["roles"])
capacity_router = APIRouter(prefix="/api/tasks/capacity", tags=["capacity"])


@router.get("")
async def list_roles(services: Reads) -> list[DeclaredRole]:
    """All roles by name."""
    return await services.roles.list()


class PauseRequest(Body):
    """For how many seconds the role is to rest; without them, until it is resumed."""

    seconds: Annotated[float | None, Field(gt=0)] = None


class Resumed(BaseModel):
    """A role that works, and whether it was paused until now."""

    role: str
    was_paused: bool


@router.post("/{name}/pause", responses=refuses(404))
async def pause_role(name: str, services: Operates, request: PauseRequest | None = None) -> Pause:
    """Let no task of the role begin; what runs goes on."""
    return await services.roles.pause(name, request.seconds if request else None)


@router.post("/{name}/resume", responses=refuses(404))
async def resume_role(name: str, services: Operates) -> Resumed:
    """End the role's pause."""
    return Resumed(role=name, was_paused=await services.roles.resume(name))


@handler_router.get("")
async def list_handlers(services: Reads) -> list[DeclaredHandler]:
    """All handlers by role and name, each with the JSON schema of its payload."""
    return await services.handlers.list()


@handler_router.get("/{name}", responses=refuses(404))
async def get_handler(name: str, services: Reads) -> DeclaredHandler:
    """One handler."""
    return await services.handlers.get(name)


class Revealed(BaseModel):
    """A handler, and whether it hid more than its present declaration does."""

    handler: str
    revealed: bool


@handler_router.post("/{name}/reveal", responses=refuses(404))
async def reveal_handler(name: str, services: Administers) -> Revealed:
    """Show values again that only earlier declarations of the handler hid."""
    return Revealed(handler=name, revealed=await services.handlers.reveal(name))


Workers = Annotated[int | None, Query(ge=0, le=1_000_000, description="Reckon with so many workers.")]
TargetWait = Annotated[
    float | None, Query(gt=0, le=2_592_000, allow_inf_nan=False, description="Seconds that a task may wait.")
]
Hours = Annotated[int, Query(ge=1, le=24, description="How many hours to look ahead.")]


@capacity_router.get("")
async def list_capacity(services: Reads) -> Page[RoleCapacity]:
    """What each role has to do, what its workers manage, and when it will be done."""
    return Page(items=await services.capacity.list())


@capacity_router.get("/{role}", responses=refuses(404))
async def plan_role(
    role: str, services: Reads, workers: Workers = None, target_wait_s: TargetWait = None, hours: Hours = 8
) -> RolePlan:
    """How many workers a role needs, and how it goes on, also with another number of workers."""
    question = CapacityQuestion(workers=workers, target_wait_s=target_wait_s, hours=hours)
    return await services.capacity.plan(role, question)
