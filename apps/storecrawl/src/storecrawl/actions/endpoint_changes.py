"""Changes of endpoints by people, with an audit entry."""

from __future__ import annotations

from typing import Any

import psycopg

from rolecall import Actor, audit
from storecrawl.catalog.endpoints import set_chain_endpoint, set_store_endpoint
from storecrawl.platforms.exchange import checked_base


class EndpointChanges:
    """Changes endpoints as one actor on one connection. Each change commits on its own.

    Raises ForbiddenUrl for an address that is not plain http or https; None removes the endpoint.
    """

    def __init__(self, connection: psycopg.AsyncConnection[Any], actor: Actor) -> None:
        self._connection = connection
        self._actor = actor

    async def of_store(self, store_id: int, endpoint: str | None) -> None:
        """Set the base URL of a store. Raises UnknownStore."""
        _check(endpoint)
        async with audit.change_async(
            self._connection, self._actor, "stores.endpoint", store_id=store_id, endpoint=endpoint
        ):
            await set_store_endpoint(self._connection, store_id, endpoint)

    async def of_chain(self, platform: str, chain: str, endpoint: str | None) -> None:
        """Set the base URL of a chain's stores on a platform."""
        _check(endpoint)
        async with audit.change_async(
            self._connection, self._actor, "chains.endpoint", platform=platform, chain=chain, endpoint=endpoint
        ):
            await set_chain_endpoint(self._connection, platform, chain, endpoint)


def _check(endpoint: str | None) -> None:
    if endpoint is not None:
        checked_base(endpoint)
