"""A reliable upstream, routes in a real database, and clients that use them."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from storecrawl.demo.upstream import LocalUpstream, UpstreamOptions
from storecrawl.egress import Egress, EgressOptions, Recorder
from storecrawl.platforms.dutchie import ClientOptions, UpstreamClient

from .forward_proxy import ForwardProxy

SMALL_WORLD = UpstreamOptions(stores=4, seed=3, menu_median=20, menu_largest=40)
QUICK = ClientOptions(backoff=0.01, page_pause=0.0)


@dataclass(frozen=True, slots=True)
class Book:
    connection: psycopg.Connection[Any]

    def add(self, proxy: ForwardProxy | None = None, **columns: object) -> int:
        row: dict[str, object] = {"protocol": "direct"}
        if proxy is not None:
            row = {"protocol": proxy.protocol, "host": "127.0.0.1", "port": proxy.port}
            if proxy.credentials:
                row |= dict(zip(("username", "password"), proxy.credentials, strict=True))
        row |= columns
        names, values = ", ".join(row), ", ".join(f"%({name})s" for name in row)
        query = f"insert into storecrawl.routes ({names}) values ({values}) returning id"
        found = self.connection.execute(query.encode(), row).fetchone()
        assert found is not None
        return int(found[0])

    def route(self, route_id: int) -> dict[str, Any]:
        with self.connection.cursor(row_factory=dict_row) as cursor:
            found = cursor.execute("select * from storecrawl.routes where id = %s", (route_id,)).fetchone()
        assert found is not None
        return found


@pytest.fixture
def book(connection: psycopg.Connection[Any]) -> Book:
    return Book(connection)


@pytest.fixture
async def upstream() -> AsyncIterator[LocalUpstream]:
    async with LocalUpstream(SMALL_WORLD) as running:
        yield running


@pytest.fixture
async def proxy() -> AsyncIterator[Callable[..., Awaitable[ForwardProxy]]]:
    async with AsyncExitStack() as stack:

        async def start(**how: Any) -> ForwardProxy:
            return await stack.enter_async_context(ForwardProxy(**how))

        yield start


@pytest.fixture
async def make_client(database: str) -> AsyncIterator[Callable[..., Awaitable[UpstreamClient]]]:
    """Create clients that use the database's routes; closing them stores the counts."""
    async with AsyncExitStack() as stack:

        async def make(url: str, options: ClientOptions = QUICK, **egress: Any) -> UpstreamClient:
            opened = await stack.enter_async_context(
                Egress(EgressOptions(report_every=0.02, **egress), recorder=Recorder(database))
            )
            return UpstreamClient(url, options=options, egress=opened)

        yield make


@pytest.fixture
def eventually() -> Callable[[Callable[[], Any]], Awaitable[None]]:
    """Wait at most 40 seconds until the condition is true."""

    async def wait(fact: Callable[[], Any]) -> None:
        async with asyncio.timeout(40.0):
            while not (await answer if inspect.isawaitable(answer := fact()) else answer):
                await asyncio.sleep(0.02)

    return wait
