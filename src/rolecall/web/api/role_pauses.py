"""Pauses of roles over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from rolecall.model.insight import Pause
from rolecall.web.access import Operates
from rolecall.web.fields import Body
from rolecall.web.problems import refuses

router = APIRouter(prefix="/api/roles", tags=["roles"])


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
