"""The whole application on a migrated database with one role and two handlers, without a socket."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest

from rolecall import App
from rolecall.db.connect import connect_async
from rolecall.db.run import run_async
from rolecall.sql import roles
from tests.web.doors import Door, opened, unguarded


@pytest.fixture
def app() -> App:
    return App("test")


@pytest.fixture
async def http(database: str, app: App) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the API with all rights, without authentication."""
    async with await connect_async(database, "test") as connection:
        handlers = [{"name": name, "role": "sums"} for name in ("add", "stumble")]
        await run_async(connection, roles.declare([{"name": "sums"}], handlers))
    application = unguarded(database, app)
    transport = httpx2.ASGITransport(app=application)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url="http://test") as client,
    ):
        yield client


@pytest.fixture
async def door(database: str) -> AsyncIterator[Door]:
    async with opened(database) as door:
        yield door
