"""API keys over HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field

from rolecall.model.access import ApiKey, NewApiKey, Scope
from rolecall.service.keys import DAYS
from rolecall.web.access import Administers
from rolecall.web.fields import Body, PathId
from rolecall.web.problems import refuses

router = APIRouter(prefix="/api/keys", tags=["access"])


class Wish(Body):
    """The API key that is to be made; `days` of null is for ever."""

    name: str
    scope: Annotated[Scope, Field(strict=False)]
    days: int | None = DAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKeys:
    """All API keys, on one page."""

    items: list[ApiKey]
    next_cursor: str | None = None


@router.get("")
async def list_keys(services: Administers) -> ApiKeys:
    """All API keys, the newest first, with those that were revoked or have expired lately."""
    return ApiKeys(items=await services.keys.list())


@router.post("", status_code=201)
async def create_key(wish: Wish, response: Response, services: Administers) -> NewApiKey:
    """Make an API key; its secret is told here and never again."""
    made = await services.keys.create(wish.name, wish.scope, wish.days)
    response.headers["Location"] = f"/api/keys/{made.key.id}"
    return made


@router.get("/{key_id:int}", responses=refuses(404))
async def show_key(key_id: PathId, services: Administers) -> ApiKey:
    """One API key, without its secret."""
    return await services.keys.get(key_id)


@router.delete("/{key_id:int}", status_code=204, responses=refuses(404))
async def revoke_key(key_id: PathId, services: Administers) -> None:
    """Let an API key open nothing from now on."""
    await services.keys.revoke(key_id)
