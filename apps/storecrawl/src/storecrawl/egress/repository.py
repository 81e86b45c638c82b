"""Manage routes: list, add, remove, enable, disable. Passwords are never returned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import httpx2
import msgspec
import psycopg
from psycopg.rows import dict_row

from storecrawl.egress.errors import RouteError
from storecrawl.egress.routes import Route, RouteProtocol, label
from storecrawl.egress.sql import ROUTES

Connection = psycopg.AsyncConnection[Any]
LONGEST = 255
HIGHEST_PORT = 65_535


class UnknownRoute(RouteError):
    """No such route."""

    def __init__(self, route_id: int) -> None:
        super().__init__(f"no route {route_id}")
        self.route_id = route_id


class RouteExists(RouteError):
    """A route with this address and user exists."""

    def __init__(self, name: str) -> None:
        super().__init__(f"route {name} with this user already exists")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRoute:
    """A route to add; `password_env` names the workers' environment variable with the password instead."""

    protocol: RouteProtocol
    host: str | None = None
    port: int | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    password_env: str | None = None
    city: str | None = None
    state: str | None = None
    country: str | None = None
    timezone: str | None = None

    def check(self) -> None:
        """Raise RouteError if the route is invalid."""
        self._check_address()
        self._check_credentials()
        self._check_texts()

    def _check_address(self) -> None:
        is_direct = self.protocol is RouteProtocol.DIRECT
        if is_direct:
            _refuse(
                "a direct route has neither address nor user", is_invalid=any([self.host, self.port, self.username])
            )
        else:
            _refuse("a route through a proxy needs a host and a port", is_invalid=not (self.host and self.port))
        _refuse(
            "the port of a route must be between 1 and 65535",
            is_invalid=self.port is not None and not 1 <= self.port <= HIGHEST_PORT,
        )
        _refuse(
            "the host of a route must be a name or an address only",
            is_invalid=any(letter in (self.host or "") for letter in "/@?# "),
        )
        _refuse("the address of a route is invalid", is_invalid=not is_direct and not _is_address(self))

    def _check_credentials(self) -> None:
        has_password = bool(self.password or self.password_env)
        _refuse("a route with a password needs a user", is_invalid=has_password and not self.username)
        _refuse(
            "a route has either a password or an environment variable with it",
            is_invalid=bool(self.password and self.password_env),
        )

    def _check_texts(self) -> None:
        fields = [self.host, self.username, self.password, self.password_env, self.city, self.state, self.country]
        texts = list(filter(None, fields))
        _refuse(
            f"texts of a route must not be longer than {LONGEST} characters",
            is_invalid=any(len(text) > LONGEST for text in texts),
        )
        _refuse(
            "a text of a route has characters that cannot be stored", is_invalid=any("\0" in text for text in texts)
        )
        _refuse(
            f"the time zone of a route must be one such as America/Phoenix, not {self.timezone!r}",
            is_invalid=not _is_timezone(self.timezone),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRoute:
    """A route and its counters, for display. From `paused_until` on, one visit probes it."""

    id: int
    protocol: RouteProtocol
    host: str | None
    port: int | None
    username: str | None
    has_password: bool
    city: str | None
    state: str | None
    country: str | None
    timezone: str | None
    active: bool
    disabled_at: datetime | None
    disabled_because: str | None
    paused_until: datetime | None
    paused_because: str | None
    successes: int
    failures: int
    failed_in_a_row: int
    forbidden_with: list[str]
    last_used_at: datetime | None
    last_error: str | None
    last_error_at: datetime | None
    added_at: datetime

    @property
    def label(self) -> str:
        return label(self.protocol, self.host, self.port)

    @property
    def status(self) -> str:
        """Whether it is active, paused because of 403 responses, or disabled by a person."""
        return "disabled" if not self.active else "active" if self.paused_until is None else "paused"

    @property
    def reason(self) -> str | None:
        """The reason why it is not used, or the error of its last failed request."""
        return self.disabled_because or self.paused_because or self.last_error


async def list_routes(connection: Connection) -> list[StoredRoute]:
    """Return all routes, by id."""
    return await _routes(connection, None)


async def find_route(connection: Connection, route_id: int) -> StoredRoute:
    """Return a route. Raises UnknownRoute."""
    for route in await _routes(connection, route_id):
        return route
    raise UnknownRoute(route_id)


async def load_route(connection: Connection, route_id: int) -> Route:
    """Return a route as workers use it, active or not, with its password. Raises UnknownRoute."""
    for row in await _rows(connection, ROUTES.find_route, {"id": route_id}):
        return msgspec.convert(row, Route)
    raise UnknownRoute(route_id)


async def add_route(connection: Connection, route: NewRoute) -> StoredRoute:
    """Add an active route. Raises RouteExists, RouteError."""
    route.check()
    for row in await _rows(connection, ROUTES.add_route, msgspec.to_builtins(route)):
        return await find_route(connection, row["id"])
    raise RouteExists(label(route.protocol, route.host, route.port))


async def remove_route(connection: Connection, route_id: int) -> None:
    """Delete a route and its counters. Raises UnknownRoute."""
    await _change(connection, ROUTES.remove_route, {"id": route_id})


async def enable_route(connection: Connection, route_id: int) -> StoredRoute:
    """Enable a route and clear the evidence against it. Raises UnknownRoute."""
    await _change(connection, ROUTES.enable_route, {"id": route_id})
    return await find_route(connection, route_id)


async def disable_route(connection: Connection, route_id: int, reason: str) -> StoredRoute:
    """Disable a route; an earlier reason is kept. Raises UnknownRoute."""
    await _change(connection, ROUTES.disable_route, {"id": route_id, "reason": reason})
    return await find_route(connection, route_id)


def ensure_direct(connection: psycopg.Connection[Any]) -> None:
    """Create an active direct route if there is none."""
    connection.execute(ROUTES.ensure_direct)


async def _change(connection: Connection, query: bytes, parameters: Mapping[str, object]) -> None:
    if not await _rows(connection, query, parameters):
        raise UnknownRoute(int(str(parameters["id"])))


async def _routes(connection: Connection, route_id: int | None) -> list[StoredRoute]:
    return [msgspec.convert(row, StoredRoute) for row in await _rows(connection, ROUTES.list_routes, {"id": route_id})]


async def _rows(connection: Connection, query: bytes, parameters: Mapping[str, object]) -> list[dict[str, Any]]:
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(query, parameters)
        return await cursor.fetchall()


def _refuse(problem: str, *, is_invalid: bool) -> None:
    if is_invalid:
        raise RouteError(problem)


def _is_address(route: NewRoute) -> bool:
    try:
        return bool(httpx2.URL(label(route.protocol, route.host, route.port)).host)
    except httpx2.InvalidURL:
        return False


def _is_timezone(name: str | None) -> bool:
    try:
        return name is None or bool(ZoneInfo(name))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
