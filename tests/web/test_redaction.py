"""Redacted values, declared in pydantic or by an annotation, are absent from the whole API and all pages."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import psycopg
import pytest

from rolecall import App
from rolecall.db.run import run
from rolecall.model.tasks import NewTask
from rolecall.sql import outside, owned, roles
from tests.secrets import CANARY, SHOWN, SIGN, payload, program
from tests.web.doors import unguarded
from tests.web.matrix import routes_of
from tests.web.test_tasks import get

# Endless streams. Their events name tasks, without their contents.
ENDLESS = "/api/live"
NAMED = {"name": "sync", "handler": "sync", "role": "vault", "key": "k"}


@pytest.fixture(params=["the handler's code", "its stored declaration"])
def app(request: pytest.FixtureRequest) -> App:
    """Return the app of a server, or another one."""
    app = program() if request.param == "the handler's code" else App("other")
    app.mount("rolecall.web.own_tasks:router")
    app.alias("secret", "token")
    return app


@pytest.fixture
async def application(database: str, app: App, connection: psycopg.Connection[Any]) -> AsyncIterator[Any]:
    run(connection, roles.declare(*program().declaration()))
    application = unguarded(database, app)
    async with application.router.lifespan_context(application):
        yield application


@pytest.fixture
async def http(application: Any) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=application)
    async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
        yield client


async def test_redacted_value_is_in_no_response(
    application: Any, http: httpx2.AsyncClient, connection: psycopg.Connection[Any]
) -> None:
    """All read routes of the API and the pages, for a completed task and its schedule."""
    task_id = (await http.post("/api/tasks", json={"handler": "sync", "payload": payload()})).json()["id"]
    run(connection, owned.enqueue(NewTask(handler="sync", payload=payload()), "this machine", "mine"))
    run(connection, outside.complete(task_id, {"number": 1, "pin": f"{CANARY}-result"}))
    needy = await http.post("/api/tasks", json={"handler": "sync", "payload": payload(), "needs": [task_id]})
    made = await http.post(
        "/api/schedules", json={"name": "nightly", "handler": "sync", "every": 60, "payload": payload()}
    )
    paths = sorted(path for method, path in routes_of(application) if method == "GET" and path != ENDLESS)
    answers = {}
    for path in paths:
        for number in (task_id, needy.json()["id"], made.json()["id"]):
            address = re.sub(r"\{(\w+)(:\w+)?\}", lambda part: NAMED.get(part[1], str(number)), path)
            words = (
                {"seconds": "0"}
                if address.endswith("/wait")
                else {"payload": "full"}
                if path == "/tasks/{task_id:int}"
                else {}
            )
            answers[address] = (await http.get(address, params=words)).text

    assert (made.status_code, needy.status_code) == (201, 201)
    assert [
        address for address, text in answers.items() if CANARY in text or CANARY in text.replace("&#34;", '"')
    ] == []
    assert sum(SIGN in text for text in answers.values()) >= 10


async def test_rejected_payload_is_not_repeated_in_the_error(http: httpx2.AsyncClient) -> None:
    answer = await http.post("/api/tasks", json={"handler": "sync", "payload": payload(token=[CANARY])})

    assert CANARY not in answer.text


async def test_changing_one_payload_field_of_a_schedule_preserves_redacted_fields(
    http: httpx2.AsyncClient, connection: psycopg.Connection[Any]
) -> None:
    """The alias of a redacted field is shown redacted too, and can be used in changes."""
    result = {"name": "nightly", "handler": "sync", "every": 60, "payload": payload()}
    made = (await http.post("/api/schedules", json=result)).json()

    changed = await http.put(f"/api/schedules/{made['id']}", json={"secret": f"{CANARY}-new"})

    assert (made["secret"], changed.status_code, changed.json()["payload"]) == (SIGN, 200, SHOWN)
    stored = connection.execute("select payload from rolecall.schedules").fetchone()
    assert stored == (payload(token=f"{CANARY}-new"),)


async def test_pointer_to_a_large_value_in_a_request_is_rejected(http: httpx2.AsyncClient) -> None:
    pointer = {"rolecall": "payload field stored elsewhere", "store": "file:///etc", "path": "passwd"}
    result = payload(shop={**pointer, "bytes": 1, "sha256": "0"})

    answer = await http.post("/api/tasks", json={"handler": "sync", "payload": result})

    assert answer.status_code == 422


async def test_payload_with_a_redaction_placeholder_is_rejected(http: httpx2.AsyncClient) -> None:
    task_id = (await http.post("/api/tasks", json={"handler": "sync", "payload": payload()})).json()["id"]
    shown = await get(http, f"/api/tasks/{task_id}/payload")

    again = await http.post("/api/tasks", json={"handler": "sync", "payload": payload(token=shown["token"])})

    assert (again.status_code, "give the value itself" in again.text) == (422, True)
