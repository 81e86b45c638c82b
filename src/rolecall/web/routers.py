"""Routers of the API. FastAPI analyses each route once, because its router has what all routes share."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from fastapi import APIRouter, Depends
from starlette.routing import BaseRoute

from rolecall.web.dashboard.routing import Pages
from rolecall.web.http.problems import PROBLEMS
from rolecall.web.query_parameters import reject_unknown_parameters

KNOWN_WORDS = Depends(reject_unknown_parameters)
# The attribute of a router with the routes that lead to it.
SHARED = "_rolecall_routes"


def api_router(prefix: str = "", tags: Sequence[str | Enum] = (), *, include_in_schema: bool = True) -> APIRouter:
    """Return a router whose routes answer errors with problem documents, and reject unknown query parameters."""
    return APIRouter(
        prefix=prefix,
        tags=list(tags),
        include_in_schema=include_in_schema,
        responses=PROBLEMS,
        dependencies=[KNOWN_WORDS],
    )


def shared_routes(router: APIRouter) -> list[BaseRoute]:
    """Return the routes of a router. Those of an app also get what the routes of the API have.

    All applications share them, so that FastAPI analyses a router once per process. The router owns them, so that all
    are freed together.
    """
    if isinstance(router, Pages) or KNOWN_WORDS in router.dependencies:
        return router.routes
    shared: list[BaseRoute] | None = vars(router).get(SHARED)
    if shared is None:
        parent = api_router()
        parent.include_router(router)
        shared = vars(router).setdefault(SHARED, parent.routes)
    return shared
