"""Roles over HTTP."""

from __future__ import annotations

from fastapi import APIRouter

from rolecall.model.insight import DeclaredRole
from rolecall.web.access import Reads

router = APIRouter(prefix="/api/roles", tags=["roles"])


@router.get("")
async def list_roles(services: Reads) -> list[DeclaredRole]:
    """All roles by name."""
    return await services.roles.list()
