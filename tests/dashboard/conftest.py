"""Pages as HTML. The tests in browser/ use a real browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import psycopg
import pytest

from rolecall import App
from rolecall.testing import Clock
from tests.sql.engine import Engine
from tests.web.doors import Door, opened, unguarded


@pytest.fixture
def app() -> App:
    return App("test")


@pytest.fixture
def pool(connection: psycopg.Connection[Any], clock: Clock, database: str) -> Engine:
    """The engine of the pages, with two roles and three handlers. Its clock is the real one until a test sets it."""
    pool = Engine(connection, clock, database)
    handlers = [{"name": name, "role": "sums"} for name in ("add", "stumble")]
    pool.declare({"name": "sums"}, {"name": "letters"}, handlers=[*handlers, {"name": "post", "role": "letters"}])
    return pool


@pytest.fixture
async def door(pool: Engine, app: App) -> AsyncIterator[Door]:
    async with opened(pool.database, app=app) as door:
        yield door


@pytest.fixture
async def http(database: str, app: App) -> AsyncIterator[httpx2.AsyncClient]:
    """A client without a browser, with all rights and without authentication."""
    application = unguarded(database, app)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=application), base_url="http://test") as client,
    ):
        yield client
