"""The capacities of keys over HTTP. Keys can contain slashes, so they are not part of the path."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel

from rolecall.model.keys import KeyCapacity, KeyState
from rolecall.model.operator.pages import Page
from rolecall.service.key_capacities import KeyDetail
from rolecall.web.dependencies import Operates, Reads
from rolecall.web.fields.parameters import Body, Limit, ShortText, TextCursor
from rolecall.web.routers import api_router

router = api_router(prefix="/api/key-capacities", tags=["keys"])

Pattern = Annotated[ShortText, Query(description="A key, or a prefix of keys followed by a star.")]


class CapacityRequest(Body):
    """The capacity of a key, or of each key that matches a pattern (`tenant:*`)."""

    pattern: str
    capacity: int


class SetCapacity(BaseModel):
    """The capacity that is now set for a key or pattern, and the one before; null if none is or was set."""

    pattern: str
    set_to: int | None
    before: int | None


@router.get("")
async def list_key_capacities(services: Reads, cursor: TextCursor = None, limit: Limit = 50) -> Page[KeyCapacity]:
    """List the capacities of keys and patterns. Every other key has the capacity 1."""
    return await services.key_capacities.list(cursor, limit)


@router.get("/key")
async def show_key(services: Reads, key: ShortText) -> KeyDetail:
    """Return a key's capacity, its first ten running tasks, and how many tasks wait."""
    return await services.key_capacities.show(key)


@router.get("/busiest")
async def list_busiest_keys(services: Reads, limit: Limit = 10) -> list[KeyState]:
    """Return the keys for which most due tasks wait."""
    return list(await services.key_capacities.busiest(limit))


@router.put("")
async def set_key_capacity(request: CapacityRequest, services: Operates) -> SetCapacity:
    """Set a key's capacity, which overrides the app's declaration."""
    before = await services.key_capacities.set(request.pattern, request.capacity)
    return SetCapacity(pattern=request.pattern, set_to=request.capacity, before=before)


@router.delete("")
async def reset_key_capacity(services: Operates, pattern: Pattern) -> SetCapacity:
    """Remove a set capacity. The app's declaration applies again, or the longest matching pattern, or 1."""
    return SetCapacity(pattern=pattern, set_to=None, before=await services.key_capacities.reset(pattern))
