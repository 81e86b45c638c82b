"""The stream of events and its snapshot, over a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any

import httpx2
import psycopg
import pytest
from fastapi import FastAPI, Request

from rolecall import App
from rolecall.config import AccessSettings, AuthMode, Settings
from rolecall.db.connect import connect_async
from rolecall.db.run import run_async
from rolecall.model.audit import Actor
from rolecall.model.operator.access import Scope
from rolecall.service.database import PooledDatabase
from rolecall.service.services import Services
from rolecall.sql import roles
from rolecall.web import build
from rolecall.web.access.passwords import hash_password
from rolecall.web.state import set_state
from tests.outage import outage
from tests.service.live.watching import enqueue
from tests.web.doors import PASSWORD, unguarded
from tests.web.streaming import LONG, Events, Site, served

Connection = psycopg.AsyncConnection[Any]


@pytest.fixture
async def sql(database: str) -> AsyncIterator[Connection]:
    """A session with the server's database, in which two roles are declared."""
    async with await connect_async(database, "other") as connection:
        handlers = [{"name": "add", "role": "sums"}, {"name": "see", "role": "other"}]
        await run_async(connection, roles.declare([{"name": "sums"}, {"name": "other"}], handlers))
        yield connection


@pytest.fixture
def application(database: str) -> FastAPI:
    return unguarded(database, App("test"))


@pytest.fixture
async def site(application: FastAPI, sql: Connection) -> AsyncIterator[Site]:
    async with served(application) as site:
        yield site


async def test_stream_reports_the_state_changes_of_a_task(site: Site, sql: Connection) -> None:
    async with site.events() as events:
        first = await events.next()
        [task_id] = await enqueue(sql)
        pending = await events.change_of(task_id, "pending")
        await sql.execute(
            "select rolecall.claim(rolecall.register_worker('w', '{}', '{add}', 1, 'h', 1, '0'), '{}', '{add}', 1)"
        )
        await events.change_of(task_id, "running")
        await sql.execute("select rolecall.complete_task(%s)", [task_id])
        await events.change_of(task_id, "completed")

    assert events.response.headers["content-type"].startswith("text/event-stream")
    assert first.name == "connected"
    assert pending.data == {"id": task_id, "parent_id": None, "role": "sums", "state": "pending"}


async def test_stream_can_be_limited_to_roles_and_trees(site: Site, sql: Connection) -> None:
    [root] = await enqueue(sql)
    async with site.events(f"/api/live?role=sums&root={root}") as events:
        tree = await events.until(lambda event: event.name == "progress")
        await enqueue(sql, "see")
        [wanted] = await enqueue(sql, "add")
        # A poll of the roles may see changes that the preceding poll of the tasks has missed.
        result = await events.all_of("task_changed", "role_changed")

    assert (tree.data["id"], tree.data["activity"]) == (root, "pending")
    assert result["task_changed"].data["id"] == wanted
    assert (result["role_changed"].data["role"], result["role_changed"].data["ready"]) == ("sums", 2)


async def test_reconnecting_client_continues_where_it_stopped(site: Site, sql: Connection) -> None:
    async with site.events() as events:
        [before] = await enqueue(sql)
        result = await events.change_of(before, "pending")
        position = result.id or (await events.until(lambda event: event.id is not None)).id or ""
    [missed] = await enqueue(sql)

    async with site.events(last_event_id=position) as events:
        await events.change_of(missed, "pending")


async def test_client_that_was_away_too_long_must_reload(site: Site, sql: Connection) -> None:
    async with site.events(last_event_id="1000-0") as events:
        reload = await events.until(lambda event: event.name == "reload")

    assert reload.data == {"reason": "away"}


async def test_snapshot_matches_the_events(site: Site, sql: Connection) -> None:
    async with site.events() as events:
        await enqueue(sql)
        result = await events.until(lambda event: event.name == "role_changed")
    snapshot = (await site.client.get("/api/live/snapshot")).json()

    assert [role["role"] for role in snapshot["roles"]] == ["other", "sums"]
    assert snapshot["roles"][1] == result.data


async def test_stream_survives_the_loss_of_its_database_connections(site: Site, sql: Connection) -> None:
    async with site.events() as events:
        await events.next()
        await sql.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where datname = current_database() and pid <> pg_backend_pid()"
        )
        [task_id] = await enqueue(sql)

        await events.change_of(task_id, "pending")


async def test_streams_end_when_the_server_stops(site: Site, sql: Connection) -> None:
    async with site.events() as events:
        await events.next()
        await site.stop()

        with pytest.raises(StopAsyncIteration):
            await events.until(lambda _event: False)


async def test_disconnected_client_no_longer_counts_as_a_watcher(
    site: Site, application: FastAPI, sql: Connection
) -> None:
    live = application.state.rolecall.live
    async with site.events() as staying:
        async with site.events() as leaving:
            await leaving.next()
            assert live.watchers == 2
        while live.watchers == 2:
            [task_id] = await enqueue(sql)
            await staying.change_of(task_id, "pending")

        assert live.watchers == 1


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/live?role=sumz", 422),
        ("/api/live?root=4711", 404),
        ("/api/live?root=one", 422),
        ("/api/live?" + "&".join(["root=1"] * 11), 422),
    ],
)
async def test_stream_that_cannot_be_opened_returns_a_problem_document(site: Site, path: str, status: int) -> None:
    answer = await site.client.get(path)

    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"


async def test_stream_requires_the_read_scope(database: str, sql: Connection) -> None:
    application = build(database, App("test"), Settings(access=AccessSettings(auth=AuthMode.keys)))
    async with served(application) as site:
        assert (await site.client.get("/api/live")).status_code == 401
        assert (await site.client.get("/api/live/snapshot")).status_code == 401


@dataclass(frozen=True, slots=True, kw_only=True)
class Locked:
    """A server with logins that checks sessions as often as it can, and the actions of an admin."""

    site: Site
    services: Services

    async def key(self, scope: Scope = Scope.READ) -> tuple[int, dict[str, str]]:
        made = await self.services.keys.create(scope.value, scope)
        return made.key.id, {"authorization": f"Bearer {made.secret}"}


@pytest.fixture
async def locked(database: str, sql: Connection) -> AsyncIterator[Locked]:
    application = build(database, App("test"), Settings(access=AccessSettings(auth=AuthMode.keys)))
    set_state(application, replace(application.state.rolecall, heartbeat=0.2))
    async with served(application) as site:
        pool = application.state.rolecall.pool
        yield Locked(site=site, services=Services(PooledDatabase(pool, Actor(name="root", via="cli"))))


async def open_streams(stack: AsyncExitStack, site: Site, number: int, headers: dict[str, str]) -> None:
    """Open this many streams, and keep them open."""
    opened = [await stack.enter_async_context(site.events(**headers)) for _ in range(number)]
    stack.callback(opened.clear)  # a stream without a reference is closed
    assert [(await events.next()).name for events in opened] == ["connected"] * number


async def is_let_in(site: Site, headers: dict[str, str]) -> bool:
    """Return whether a stream can be opened with these credentials."""
    async with site.client.stream("GET", "/api/live", headers=headers) as response:
        return response.status_code == httpx2.codes.OK


async def ends(events: Events) -> None:
    """Read to the end of a stream."""
    with pytest.raises(StopAsyncIteration):
        await events.until(lambda _event: False)


async def test_stream_ends_when_its_key_is_revoked(locked: Locked, sql: Connection) -> None:
    key_id, headers = await locked.key()
    async with locked.site.events(**headers) as events:
        await events.next()
        [before] = await enqueue(sql)
        await events.change_of(before, "pending")

        await locked.services.keys.revoke(key_id)

        await ends(events)


@pytest.mark.parametrize("how", ["removed", "password", "expired", "idle"])
async def test_stream_ends_with_its_session(locked: Locked, sql: Connection, how: str) -> None:
    await locked.services.people.add("ada", Scope.READ, hash_password(PASSWORD))
    await locked.site.client.post("/api/login", json={"name": "ada", "password": PASSWORD})
    async with locked.site.events() as events:
        await events.next()

        match how:
            case "removed":
                await locked.services.people.remove("ada")
            case "password":
                await locked.services.people.set_password("ada", "another")
            case "expired":
                await sql.execute("update rolecall.sessions set expires_at = now()")
            case _:
                long_ago = "now() - interval '3 hours'"
                await sql.execute(f"update rolecall.sessions set created_at = {long_ago}, last_used_at = {long_ago}")

        await ends(events)


async def test_stream_stays_open_while_access_cannot_be_checked(locked: Locked, database: str) -> None:
    _, headers = await locked.key()
    application = locked.site.server.config.app
    shown = [(name.encode(), value.encode()) for name, value in headers.items()]
    request = Request({"type": "http", "app": application, "headers": shown, "client": ("127.0.0.1", 1)})
    access = application.state.rolecall.access  # type: ignore[union-attr]

    with outage(database):
        assert await access.still_admits(request)
    assert await access.still_admits(request)


async def test_one_reader_cannot_use_up_the_streams_of_others(locked: Locked, sql: Connection) -> None:
    _, reader = await locked.key()
    _, admin = await locked.key(Scope.ADMIN)
    async with AsyncExitStack() as opened:
        await open_streams(opened, locked.site, 10, reader)
        refused = await opened.enter_async_context(locked.site.client.stream("GET", "/api/live", headers=reader))
        assert refused.status_code == 429
        await open_streams(opened, locked.site, 1, admin)

        assert b"10 of your streams" in await refused.aread()


async def test_reader_can_open_new_streams_after_closing_others(locked: Locked, sql: Connection) -> None:
    _, reader = await locked.key()
    async with AsyncExitStack() as opened:
        await open_streams(opened, locked.site, 10, reader)

    async with asyncio.timeout(LONG):
        while not await is_let_in(locked.site, reader):
            await asyncio.sleep(0.05)


async def test_local_caller_can_open_all_available_streams(site: Site, application: FastAPI, sql: Connection) -> None:
    async with AsyncExitStack() as opened:
        await open_streams(opened, site, 12, {})

        assert application.state.rolecall.live.watchers == 12


def test_openapi_document_describes_the_stream(application: FastAPI) -> None:
    result = application.openapi()["paths"]["/api/live"]["get"]["responses"]["200"]

    assert list(result["content"]) == ["text/event-stream"]
