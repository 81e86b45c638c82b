"""Handlers over HTTP."""

from __future__ import annotations

from fastapi import APIRouter

from rolecall.model.handlers import DeclaredHandler
from rolecall.web.access import Reads
from rolecall.web.problems import refuses

router = APIRouter(prefix="/api/handlers", tags=["roles"])


@router.get("")
async def list_handlers(services: Reads) -> list[DeclaredHandler]:
    """All handlers by role and name, each with the JSON schema of its payload."""
    return await services.handlers.list()


@router.get("/{name}", responses=refuses(404))
async def get_handler(name: str, services: Reads) -> DeclaredHandler:
    """One handler."""
    return await services.handlers.get(name)
