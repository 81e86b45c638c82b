"""Outgoing routes: what became of them, and a switch for each."""

from __future__ import annotations

from fastapi import Response

from rolecall.web import Administering, Connects, Pages, PathId, Reading
from storecrawl.egress.book import disable_route, enable_route, list_routes
from storecrawl.egress.deeds import done_by
from storecrawl.serving.doing import doer_of
from storecrawl.serving.refusals import routed

router = Pages()


@router.get("/routes")
async def list_all(view: Reading, connects: Connects) -> Response:
    """Show all routes by id."""
    async with connects() as connection:
        found = await list_routes(connection)
    return view.page("storecrawl/routes/list.html", routes=found, active=sum(route.active for route in found))


@router.post("/routes/{route_id:int}/enable")
async def enable(route_id: PathId, view: Administering, connects: Connects) -> Response:
    """Have a route used again."""
    with routed():
        async with connects() as connection:
            doer, change = doer_of(view.services), lambda: enable_route(connection, route_id)
            route = await done_by(doer, connection, "routes.enable", change, route_id=route_id)
    return view.done(f"Route {route.label} is active again; workers use it within a minute.")


@router.post("/routes/{route_id:int}/disable")
async def disable(route_id: PathId, view: Administering, connects: Connects) -> Response:
    """Have a route used no more."""
    with routed():
        async with connects() as connection:
            doer = doer_of(view.services)
            reason = f"disabled by {doer.name}"
            route = await done_by(
                doer,
                connection,
                "routes.disable",
                lambda: disable_route(connection, route_id, reason),
                route_id=route_id,
            )
    return view.done(f"Route {route.label} is disabled; workers leave it within a minute.")
