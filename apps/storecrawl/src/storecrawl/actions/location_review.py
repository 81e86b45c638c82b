"""What people decide about locations: the change with its line in the audit log, then the task that follows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import psycopg

from rolecall import Actor, NewTask, audit
from storecrawl.catalog.discovery import Verified, link_location, reject_location, unreject_location, verify_location
from storecrawl.roles.payload_fetch import fetch_task
from storecrawl.roles.store_discovery import first_crawl

__all__ = ["DEFAULT_REASON", "LocationReview"]

DEFAULT_REASON = "somebody decided so"


class LocationReview:
    """Decides on one connection, as one person; each decision commits for itself, and raises CatalogError.

    `because` stands in the location's log. `enqueue` stores a task and returns its id; a crash before it costs nothing,
    as the store is due then and the next round fetches it.
    """

    def __init__(
        self,
        connection: psycopg.AsyncConnection[Any],
        actor: Actor,
        enqueue: Callable[[NewTask], Awaitable[int]],
    ) -> None:
        self._connection = connection
        self._actor = actor
        self._enqueue = enqueue

    async def verify(self, location_id: int, because: str) -> tuple[Verified, int | None]:
        """Make a store of a location; returns it, and the task of its first crawl where it is new."""
        async with self._change("locations.verify", location_id, because) as outcome:
            verified = await verify_location(self._connection, location_id, by=self._actor.name, because=because)
            outcome |= {"store_id": verified.store_id, "created": verified.is_new}
        return verified, await self._enqueue(first_crawl(verified.store_id)) if verified.is_new else None

    async def link(self, location_id: int, store_id: int, because: str) -> int | None:
        """Link a location to a store; returns the task that fetches it where it has its id from now on."""
        async with self._change("locations.link", location_id, because) as outcome:
            taken = await link_location(self._connection, location_id, store_id, by=self._actor.name, because=because)
            outcome |= {"store_id": store_id, "id_taken": taken}
        return await self._enqueue(fetch_task(store_id)) if taken else None

    async def reject(self, location_id: int, because: str) -> None:
        """Say that a location is no store."""
        async with self._change("locations.reject", location_id, because):
            await reject_location(self._connection, location_id, by=self._actor.name, because=because)

    async def unreject(self, location_id: int, because: str) -> None:
        """Take a rejection back."""
        async with self._change("locations.unreject", location_id, because):
            await unreject_location(self._connection, location_id, by=self._actor.name, because=because)

    @asynccontextmanager
    async def _change(self, action: str, location_id: int, because: str) -> AsyncIterator[dict[str, object]]:
        async with audit.change_async(
            self._connection, self._actor, action, location_id=location_id, because=because
        ) as outcome:
            yield outcome
