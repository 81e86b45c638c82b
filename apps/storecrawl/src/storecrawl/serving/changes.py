"""Changes as the request's caller, for the API and the pages: reviews of locations, changes of routes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rolecall import NewTask
from rolecall.web import Administers, Connections, Operates
from storecrawl.actions.location_review import LocationReview
from storecrawl.actions.route_changes import RouteChanges
from storecrawl.serving.refusals import catalog_errors_as_problems, route_errors_as_problems


@asynccontextmanager
async def location_review(connects: Connections, services: Operates) -> AsyncIterator[LocationReview]:
    """Provide a LocationReview. Its errors become RequestRefused: 404 for an unknown object, otherwise 409."""

    async def enqueue(task: NewTask) -> int:
        return (await services.tasks.enqueue(task)).id

    with catalog_errors_as_problems():
        async with connects() as connection:
            yield LocationReview(connection, services.audit.actor, enqueue)


@asynccontextmanager
async def route_changes(connects: Connections, services: Administers) -> AsyncIterator[RouteChanges]:
    """Provide RouteChanges. Its errors become RequestRefused, as in `routed`."""
    with route_errors_as_problems():
        async with connects() as connection:
            yield RouteChanges(connection, services.audit.actor)
