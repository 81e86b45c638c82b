"""Changes of routes by people, with an audit entry that contains no credentials."""

from __future__ import annotations

from typing import Any

import psycopg

from rolecall import Actor, audit
from storecrawl.egress.repository import NewRoute, StoredRoute, add_route, disable_route, enable_route, remove_route


class RouteChanges:
    """Changes routes as one actor on one connection. Each change commits on its own and may raise RouteError."""

    def __init__(self, connection: psycopg.AsyncConnection[Any], actor: Actor) -> None:
        self._connection = connection
        self._actor = actor

    async def add(self, route: NewRoute) -> StoredRoute:
        """Add an active route; workers use it within a minute."""
        async with audit.change_async(self._connection, self._actor, "routes.add") as outcome:
            return _record_outcome(await add_route(self._connection, route), outcome)

    async def enable(self, route_id: int) -> StoredRoute:
        """Enable a route, and forget why it was disabled."""
        async with audit.change_async(self._connection, self._actor, "routes.enable", route_id=route_id) as outcome:
            return _record_outcome(await enable_route(self._connection, route_id), outcome)

    async def disable(self, route_id: int, reason: str) -> StoredRoute:
        async with audit.change_async(self._connection, self._actor, "routes.disable", route_id=route_id) as outcome:
            return _record_outcome(await disable_route(self._connection, route_id, reason), outcome)

    async def remove(self, route_id: int) -> None:
        async with audit.change_async(self._connection, self._actor, "routes.remove", route_id=route_id):
            await remove_route(self._connection, route_id)


def _record_outcome(route: StoredRoute, outcome: dict[str, object]) -> StoredRoute:
    outcome |= {"id": route.id, "route": route.label}
    return route
