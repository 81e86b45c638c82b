"""Deciding about locations as whoever sent the request, for the API and the pages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rolecall import NewTask
from rolecall.web import Connections, Operates
from storecrawl.deciding import Deciding
from storecrawl.serving.refusals import known

__all__ = ["deciding"]


@asynccontextmanager
async def deciding(connects: Connections, services: Operates) -> AsyncIterator[Deciding]:
    """Lend a Deciding. What it refuses leaves the block as RequestRefused: 404 for what is not there, else 409."""

    async def enqueue(task: NewTask) -> int:
        return (await services.tasks.enqueue(task)).id

    with known():
        async with connects() as connection:
            yield Deciding(connection, services.audit.actor, enqueue)
