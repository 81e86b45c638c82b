"""The field `note` of `field.diff` is stored and read in each way. `test_recipes.py` runs this in the changed copy."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator
from contextlib import redirect_stdout
from typing import Any, cast

import httpx2
import psycopg
import pytest

from rolecall import App, AsyncClient, Client
from rolecall.cli.main import run
from rolecall.db.run import run as execute
from rolecall.sql import roles
from rolecall.testing import drain_sync
from tests.web.doors import unguarded

app = App("notes")


@app.task(role="sums")
def add() -> None: ...


@pytest.fixture(scope="session")
def task_app() -> App:
    return app


@pytest.fixture(autouse=True)
def dsn(database: str, connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch) -> str:
    execute(connection, roles.declare(*app.declaration()))
    monkeypatch.setenv("DATABASE_URL", database)
    return database


@pytest.fixture
async def http(dsn: str) -> AsyncIterator[httpx2.AsyncClient]:
    application = unguarded(dsn, app)
    transport = httpx2.ASGITransport(app=application)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url="http://test") as client,
    ):
        yield client


def untyped(client: Client | AsyncClient) -> Any:
    """Return a client for calls with an option that type checkers do not know."""
    return cast("Any", client)


def command(*arguments: object) -> Any:
    with redirect_stdout(io.StringIO()) as out:
        code = run([*map(str, arguments), "--json"])
    assert code == 0, out.getvalue()
    return json.loads(out.getvalue())


def test_sync_client_stores_and_reads_a_note(task_client: Client) -> None:
    task_id = untyped(task_client).enqueue("add", note="later").id

    assert untyped(task_client).get(task_id).note == "later"


async def test_async_client_stores_and_reads_a_note(atask_client: AsyncClient) -> None:
    enqueued = await untyped(atask_client).enqueue("add", note="later")

    assert (await untyped(atask_client).get(enqueued.id)).note == "later"


def test_sql_stores_a_note(connection: psycopg.Connection, task_client: Client) -> None:
    sql = "select ids[1] from rolecall.enqueue_many(%s::jsonb)"
    [[task_id]] = connection.execute(sql, [json.dumps([{"handler": "add", "note": "later"}])]).fetchall()

    assert untyped(task_client).get(task_id).note == "later"


def test_command_stores_and_shows_a_note() -> None:
    task_id = command("enqueue", "add", "--note", "later")["id"]

    assert command("tasks", "show", task_id)["task"]["note"] == "later"


async def test_api_stores_and_shows_a_note(http: httpx2.AsyncClient) -> None:
    stored = await http.post("/api/tasks", json={"handler": "add", "note": "later"})

    assert (await http.get(stored.headers["location"])).json()["note"] == "later"


async def test_page_shows_a_note(http: httpx2.AsyncClient, task_client: Client) -> None:
    task_id = untyped(task_client).enqueue("add", note="later").id

    assert "<dd>later</dd>" in (await http.get(f"/tasks/{task_id}")).text


def test_note_is_kept_when_a_task_is_cancelled_retried_and_completed(dsn: str, task_client: Client) -> None:
    client = untyped(task_client)
    task_id = client.enqueue("add", note="later", dedupe_key="one").id
    notes = [client.get(task_id).note]
    client.cancel(task_id)
    notes.append(client.get(task_id).note)
    client.retry(task_id)
    notes.append(client.get(task_id).note)
    drain_sync(app, dsn)

    assert [*notes, client.get(task_id).note] == ["later"] * 4
