"""Decisions of people about locations: the change with its audit entry, then the follow-up task."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import psycopg

from rolecall import Actor, NewTask, audit
from storecrawl.catalog.discovery import (
    VerifiedLocation,
    link_location,
    reject_location,
    unreject_location,
    verify_location,
)
from storecrawl.roles.payload_fetch import fetch_task
from storecrawl.roles.store_discovery import first_crawl

DEFAULT_REASON = "decided by a person"


class LocationReview:
    """Makes decisions as one actor on one connection. Each commits on its own and may raise CatalogError.

    `reason` is stored in the location's log. `enqueue` stores a task and returns its id. After a crash before it,
    the next round fetches the store, which is then due.
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

    async def verify(self, location_id: int, reason: str) -> tuple[VerifiedLocation, int | None]:
        """Create a store from a location; return it, and the task of its first crawl if it is new."""
        async with self._change("locations.verify", location_id, reason) as outcome:
            verified = await verify_location(self._connection, location_id, by=self._actor.name, reason=reason)
            outcome |= {"store_id": verified.store_id, "created": verified.is_new}
        return verified, await self._enqueue(first_crawl(verified.store_id)) if verified.is_new else None

    async def link(self, location_id: int, store_id: int, reason: str) -> int | None:
        """Link a location to a store; return the task that fetches it if it gets the location's id."""
        async with self._change("locations.link", location_id, reason) as outcome:
            takes_id = await link_location(self._connection, location_id, store_id, by=self._actor.name, reason=reason)
            outcome |= {"store_id": store_id, "id_taken": takes_id}
        return await self._enqueue(fetch_task(store_id)) if takes_id else None

    async def reject(self, location_id: int, reason: str) -> None:
        async with self._change("locations.reject", location_id, reason):
            await reject_location(self._connection, location_id, by=self._actor.name, reason=reason)

    async def unreject(self, location_id: int, reason: str) -> None:
        async with self._change("locations.unreject", location_id, reason):
            await unreject_location(self._connection, location_id, by=self._actor.name, reason=reason)

    @asynccontextmanager
    async def _change(self, action: str, location_id: int, reason: str) -> AsyncIterator[dict[str, object]]:
        async with audit.change_async(
            self._connection, self._actor, action, location_id=location_id, because=reason
        ) as outcome:
            yield outcome
