"""Endpoints: the base URLs of stores and chains that do not answer at the host of their platform."""

from __future__ import annotations

from dataclasses import dataclass

from psycopg.rows import class_row

from storecrawl.catalog.errors import UnknownStore
from storecrawl.catalog.sql import STORES
from storecrawl.statements import Connection, execute, fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainEndpoint:
    """The base URL of a chain on a platform, and the number of its stores there."""

    platform: str
    chain: str
    endpoint: str
    stores: int


async def set_store_endpoint(connection: Connection, store_id: int, endpoint: str | None) -> None:
    """Set the base URL of a store; None is that of its chain or platform. Raises UnknownStore."""
    if not await execute(connection, STORES.set_endpoint, {"store_id": store_id, "endpoint": endpoint}):
        raise UnknownStore([store_id])


async def set_chain_endpoint(connection: Connection, platform: str, chain: str, endpoint: str | None) -> None:
    """Set the base URL of a chain's stores; None is that of the platform."""
    parameters = {"platform": platform, "chain": chain, "endpoint": endpoint}
    statement = STORES.remove_chain_endpoint if endpoint is None else STORES.set_chain_endpoint
    await execute(connection, statement, parameters)


async def list_chain_endpoints(connection: Connection) -> list[ChainEndpoint]:
    """Return the base URLs of chains, by platform and name."""
    return await fetch(connection, STORES.list_chain_endpoints, {}, class_row(ChainEndpoint))
