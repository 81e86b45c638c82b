"""Changing routes as whoever sent the request, for the API and the pages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rolecall.web import Administers, Connections
from storecrawl.egress.changes import RouteChanges
from storecrawl.serving.refusals import routed

__all__ = ["changing_routes"]


@asynccontextmanager
async def changing_routes(connects: Connections, services: Administers) -> AsyncIterator[RouteChanges]:
    """Lend RouteChanges. What it refuses leaves the block as RequestRefused, as `routed` says."""
    with routed():
        async with connects() as connection:
            yield RouteChanges(connection, services.audit.actor)
