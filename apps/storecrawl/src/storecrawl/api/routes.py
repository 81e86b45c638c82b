"""Outgoing routes over HTTP: readers see their counters, admins change them. Passwords are never returned."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter
from pydantic import AfterValidator, Field, SecretStr

from rolecall.web import Administers, Body, Connects, PathId, Reads, refuses
from storecrawl.egress import RouteProtocol
from storecrawl.egress.repository import NewRoute, StoredRoute, find_route, list_routes
from storecrawl.serving.changes import route_changes
from storecrawl.serving.parameters import plain_text
from storecrawl.serving.refusals import route_errors_as_problems

router = APIRouter(prefix="/api/routes", tags=["routes"])

Text = Annotated[str, Field(min_length=1, max_length=255), AfterValidator(plain_text)]
Password = Annotated[SecretStr, Field(min_length=1, max_length=255)]


class RouteToAdd(Body):
    """A route; `password_env` is the workers' environment variable with the password, instead of `password`."""

    protocol: Annotated[RouteProtocol, Field(strict=False)]
    host: Text | None = None
    port: Annotated[int, Field(ge=1, le=65_535)] | None = None
    username: Text | None = None
    password: Password | None = None
    password_env: Text | None = None
    city: Text | None = None
    state: Text | None = None
    country: Text | None = None
    timezone: Text | None = None

    def route(self) -> NewRoute:
        password = self.password.get_secret_value() if self.password else None
        return msgspec.convert(self.model_dump() | {"password": password}, NewRoute)


class Disabling(Body):
    """The reason to disable a route."""

    reason: Text = "disabled manually"


@router.get("")
async def list_all(connects: Connects, _: Reads) -> list[StoredRoute]:
    """Return all routes by id, with their state, their counters, and the error of the last failed request."""
    async with connects() as connection:
        return await list_routes(connection)


@router.get("/{route_id:int}", responses=refuses(404))
async def show(route_id: PathId, connects: Connects, _: Reads) -> StoredRoute:
    """Return a route."""
    with route_errors_as_problems():
        async with connects() as connection:
            return await find_route(connection, route_id)


@router.post("", status_code=201, responses=refuses(409, 422))
async def add(route: RouteToAdd, connects: Connects, services: Administers) -> StoredRoute:
    """Add an active route; workers use it within a minute."""
    async with route_changes(connects, services) as changes:
        return await changes.add(route.route())


@router.post("/{route_id:int}/enable", responses=refuses(404))
async def enable(route_id: PathId, connects: Connects, services: Administers) -> StoredRoute:
    """Enable a route, and forget why it was disabled."""
    async with route_changes(connects, services) as changes:
        return await changes.enable(route_id)


@router.post("/{route_id:int}/disable", responses=refuses(404))
async def disable(route_id: PathId, why: Disabling, connects: Connects, services: Administers) -> StoredRoute:
    """Disable a route."""
    async with route_changes(connects, services) as changes:
        return await changes.disable(route_id, why.reason)


@router.delete("/{route_id:int}", status_code=204, response_model=None, responses=refuses(404))
async def remove(route_id: PathId, connects: Connects, services: Administers) -> None:
    """Delete a route and its counters."""
    async with route_changes(connects, services) as changes:
        await changes.remove(route_id)
