"""A database with the shop's tables for each test; the plugin `rolecall.testing.plugin` provides the server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

from rolecall import AsyncClient, Migrations, running
from shop.database import connect
from shop.tasks import app


@pytest.fixture(scope="session")
def migrations() -> Sequence[Migrations]:
    return app.migrations


@pytest.fixture
async def client(database_url: str) -> AsyncIterator[AsyncClient]:
    """The shop's client; its sessions use the test's database too."""
    connect(database_url)
    async with running(app, database_url) as client:
        yield client
