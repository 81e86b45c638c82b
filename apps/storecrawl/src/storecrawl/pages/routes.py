"""Outgoing routes: their counters, and a switch for each."""

from __future__ import annotations

from fastapi import Response

from rolecall.web import Administering, Connects, Pages, PathId, Reading
from storecrawl.egress.repository import list_routes
from storecrawl.serving.changes import route_changes

router = Pages()


@router.get("/routes")
async def list_all(view: Reading, connects: Connects) -> Response:
    """Show all routes by id."""
    async with connects() as connection:
        found = await list_routes(connection)
    active = sum(route.status == "active" for route in found)
    return view.page("storecrawl/routes/list.html", routes=found, active=active)


@router.post("/routes/{route_id:int}/enable")
async def enable(route_id: PathId, view: Administering, connects: Connects) -> Response:
    """Enable a route."""
    async with route_changes(connects, view.services) as changes:
        route = await changes.enable(route_id)
    return view.done(f"Route {route.label} is active again; workers use it within a minute.")


@router.post("/routes/{route_id:int}/disable")
async def disable(route_id: PathId, view: Administering, connects: Connects) -> Response:
    """Disable a route."""
    async with connects() as connection:
        labels = {route.id: route.label for route in await list_routes(connection)}
    if route_id in labels:
        await view.confirm(f"Disable {labels[route_id]}?", "Disable", "Workers stop using it within a minute.")
    async with route_changes(connects, view.services) as changes:
        route = await changes.disable(route_id, f"disabled by {view.services.audit.actor.name}")
    return view.done(f"Route {route.label} is disabled; workers stop using it within a minute.")
