"""How many tasks of one key run at once, over HTTP; a key may hold slashes, so it stands in no path."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from rolecall.model.keys import KeyCapacity
from rolecall.model.pages import Page
from rolecall.service.key_capacities import KeyDetail
from rolecall.web.dependencies import Operates, Reads
from rolecall.web.parameters import Body, Limit, ShortText, TextCursor

router = APIRouter(prefix="/api/key-capacities", tags=["keys"])

Pattern = Annotated[ShortText, Query(description="A key, or what keys begin with and one star.")]


class CapacityRequest(Body):
    """How many tasks of a key, or of each key that the pattern fits (`tenant:*`), are to run at once."""

    pattern: str
    capacity: int


class SetCapacity(BaseModel):
    """What is set of a key or a pattern now, and what was until now; null where nothing is or was."""

    pattern: str
    set_to: int | None
    before: int | None


@router.get("")
async def list_key_capacities(services: Reads, cursor: TextCursor = None, limit: Limit = 50) -> Page[KeyCapacity]:
    """The capacities of keys and patterns; of every other key one task runs at a time."""
    return await services.key_capacities.list(cursor, limit)


@router.get("/key")
async def show_key(services: Reads, key: ShortText) -> KeyDetail:
    """One key: how many of its tasks run at once, the first ten that do, and how many wait."""
    return await services.key_capacities.show(key)


@router.put("")
async def set_key_capacity(request: CapacityRequest, services: Operates) -> SetCapacity:
    """Let so many tasks of a key run at once, whatever the app declares."""
    before = await services.key_capacities.set(request.pattern, request.capacity)
    return SetCapacity(pattern=request.pattern, set_to=request.capacity, before=before)


@router.delete("")
async def reset_key_capacity(services: Operates, pattern: Pattern) -> SetCapacity:
    """Take back what was set: the app's declaration counts again, else the longest pattern that fits, else one."""
    return SetCapacity(pattern=pattern, set_to=None, before=await services.key_capacities.reset(pattern))
