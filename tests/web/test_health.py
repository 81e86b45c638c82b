"""Probes get a short response, with the reason of a failure."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import httpx2
import psycopg
import pytest

from rolecall import App
from rolecall.web import build

Client = Callable[[str], AbstractAsyncContextManager[httpx2.AsyncClient]]


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    """Return a client of an application on any database. Its timeout is longer than that of a probe."""
    monkeypatch.setattr("rolecall.web.api.health.PATIENCE", 30.0)

    @asynccontextmanager
    async def opened(dsn: str) -> AsyncIterator[httpx2.AsyncClient]:
        application = build(dsn, App("test"))
        transport = httpx2.ASGITransport(app=application)
        async with (
            application.router.lifespan_context(application),
            httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client,
        ):
            yield client

    return opened


async def test_ready_server_reports_ready(client: Client, database: str) -> None:
    async with client(database) as http:
        answer = await http.get("/readyz")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


async def test_server_without_a_database_is_alive_and_not_ready(client: Client) -> None:
    async with client("postgresql://secret-user:secret-password@127.0.0.1:1/none") as http:
        alive, ready = await http.get("/healthz"), await http.get("/readyz")

    assert alive.status_code == 200
    assert ready.status_code == 503
    assert ready.json()["detail"] == "the database does not respond"


async def test_missing_schema_is_reported_as_the_reason(client: Client, database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("drop schema rolecall cascade")

    async with client(database) as http:
        ready = await http.get("/readyz")

    assert ready.status_code == 503
    assert "rolecall migrate" in ready.json()["detail"]
