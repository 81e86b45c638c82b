"""A standby answers read requests, and clients always see their own changes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import httpx2
import pytest

from rolecall import App, AsyncClient
from rolecall.config import AccessSettings, AuthMode, DatabaseSettings, Settings
from rolecall.model.audit import Actor
from rolecall.model.operator.access import Scope
from rolecall.service.database import PooledDatabase
from rolecall.service.doctor import STANDBY
from rolecall.service.services import Services
from rolecall.web import build
from tests.standbys import Replicated, replicated

GREET = {"handler": "greet", "payload": {"name": "Ada"}}


@pytest.fixture(scope="module")
def kept() -> Iterator[Replicated]:
    """A standby that replays nothing during these tests."""
    with replicated() as pool:
        pool.hold()
        yield pool


@asynccontextmanager
async def served(pool: Replicated, name: str) -> AsyncIterator[tuple[httpx2.AsyncClient, Services]]:
    """The API with both servers, a client with an admin key, and the services without HTTP."""
    app = App("shop")

    @app.task
    async def greet(name: str) -> None: ...

    settings = Settings(access=AccessSettings(auth=AuthMode.keys), database=DatabaseSettings(standby_url=pool.standby))
    application = build(pool.primary, app, settings)
    transport = httpx2.ASGITransport(app=application)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url="http://rolecall.test") as client,
        AsyncClient(pool.primary, app=app) as declares,
    ):
        await declares.open()
        services = Services(PooledDatabase(application.state.rolecall.pool, Actor(name="root", via="cli")))
        key = await services.keys.create(name, Scope.ADMIN)
        client.headers["authorization"] = f"Bearer {key.secret}"
        yield client, services


async def stored(pool: Replicated) -> int:
    """A task that another program enqueues on the primary."""
    async with AsyncClient(pool.primary) as client:
        return (await client.enqueue("greet", {"name": "Bob"})).id


async def test_lists_are_read_from_the_standby(kept: Replicated) -> None:
    async with served(kept, "reader") as (client, _):
        task_id = await stored(kept)
        answer = await client.get(f"/api/tasks/{task_id}")

    assert answer.status_code == 404


async def test_caller_sees_its_own_change_immediately(kept: Replicated) -> None:
    async with served(kept, "writer") as (client, _):
        task = (await client.post("/api/tasks", json=GREET)).json()
        answer = await client.get(f"/api/tasks/{task['id']}")

    assert answer.json()["payload"] == GREET["payload"]


async def test_authentication_does_not_wait_for_the_standby(kept: Replicated) -> None:
    """The key was created after replay had been paused."""
    async with served(kept, "newcomer") as (client, _):
        assert (await client.get("/api/me")).json()["name"].startswith("newcomer")


async def test_doctor_checks_both_databases(kept: Replicated) -> None:
    async with served(kept, "doctor") as (client, _):
        answer = (await client.get("/api/doctor")).json()

    assert STANDBY in answer["checks"]
    assert [finding for finding in answer["findings"] if finding["check"] == STANDBY] == []


async def test_primary_answers_while_the_standby_is_unavailable(caplog: pytest.LogCaptureFixture) -> None:
    with replicated() as pool:
        async with served(pool, "reader") as (client, _):
            task_id = await stored(pool)
            pool.stop()
            answer = await client.get(f"/api/tasks/{task_id}")
            findings = (await client.get("/api/doctor")).json()["findings"]

    assert answer.json()["id"] == task_id
    assert "The standby does not respond, so the primary serves its queries" in caplog.text
    assert [finding["check"] for finding in findings if finding["check"] == STANDBY] == [STANDBY]
