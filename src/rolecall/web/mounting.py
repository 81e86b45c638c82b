"""The routers of an app, let in beside our own: none of their routes may be open to everybody by oversight."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import APIRouter
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts

from rolecall.app import App
from rolecall.model.errors import InvalidDeclaration
from rolecall.web.access import Requires

__all__ = ["routers_of"]


def routers_of(app: App) -> Iterator[APIRouter]:
    """The app's routers; raise InvalidDeclaration for what is none, and for a route that says no scope."""
    for mount in app.mounts:
        router = mount.router()
        if not isinstance(router, APIRouter):
            raise InvalidDeclaration(f"an app mounts FastAPI routers, not a {type(router).__name__}")
        for route in iter_route_contexts(router.routes):
            _require_scope(route)
        yield router


def _require_scope(route: RouteContext) -> None:
    if not (isinstance(route.original_route, APIRoute) and _says_scope(route.dependant)):
        raise InvalidDeclaration(
            f"the route {route.path} says no scope: it must take Reads, Operates or Administers of rolecall.web"
        )


def _says_scope(dependant: Dependant) -> bool:
    return isinstance(dependant.call, Requires) or any(map(_says_scope, dependant.dependencies))
