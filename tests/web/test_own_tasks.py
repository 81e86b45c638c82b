"""The routes of own tasks: per-user visibility, titles and six statuses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from rolecall import App
from rolecall.db.connect import connect_async
from rolecall.db.run import run_async
from rolecall.model.operator.access import Scope
from rolecall.sql import roles
from rolecall.transport.brokers import RedisLink, connect_redis
from rolecall.web import build
from tests.brokers import Broker
from tests.handoff.house import comes_true
from tests.web.doors import PASSWORD, Door, opened
from tests.web.matrix import IDENTITIES, departures, passed_over, read_table, routes_of

Sql = psycopg.Connection[Any]
BASE = "/api/own"
TABLE = read_table(Path(__file__).with_name("own_routes.txt"))
PAGES = Path(__file__).parents[1] / "dashboard" / "routes.txt"
EVERY_TABLE = [*read_table(Path(__file__).with_name("routes.txt")), *read_table(PAGES)]


def program(*, fallback: bool = True) -> App:
    app = App("flow")

    async def report(**payload: Any) -> object:
        return payload

    for name in ("report", "default") if fallback else ("report",):
        app.task(name)(report)
    app.mount("rolecall.web.own_tasks:router")
    return app


@pytest.fixture
async def door(database: str) -> AsyncIterator[Door]:
    app = program()
    async with await connect_async(database, "test") as connection:
        await run_async(connection, roles.declare(*app.declaration()))
    async with opened(database, app=app) as door:
        yield door


async def log_in(door: Door, name: str, scope: Scope = Scope.OPERATE) -> dict[str, str]:
    """Log in as such a client does; return the headers."""
    await door.person(name, scope)
    answer = await door.client.post(f"{BASE}/login", json={"username": name, "password": PASSWORD})
    assert answer.status_code == 200, answer.text
    return {"authorization": f"Bearer {answer.json()['access_token']}"}


async def post(door: Door, headers: dict[str, str], **task: object) -> httpx2.Response:
    return await door.client.post(f"{BASE}/tasks", json={"title": "report", **task}, headers=headers)


async def titles(door: Door, headers: dict[str, str], **query: str | int) -> list[str]:
    answer = await door.client.get(f"{BASE}/tasks", params=query, headers=headers)
    assert answer.status_code == 200, answer.text
    return [task["title"] for task in answer.json()]


def test_app_that_does_not_mount_the_router_has_none_of_its_routes() -> None:
    assert not [path for _, path in routes_of(build("postgresql://", App("plain"))) if path.startswith(BASE)]


async def test_access_to_each_route_matches_the_route_table(door: Door) -> None:
    theirs = {route for route in routes_of(door.application) if route[1].startswith(BASE)}

    assert theirs == {(entry.method, entry.path) for entry in TABLE}
    for identity in IDENTITIES:
        headers = {} if identity == "nobody" else await door.key(Scope(identity))
        assert await departures(door.application, TABLE, identity, headers) == []


async def test_unknown_query_parameter_is_rejected(door: Door) -> None:
    assert await passed_over(door.application, await door.key(Scope.ADMIN)) == []


async def test_task_is_created_and_shown_with_the_fields_of_these_routes(door: Door) -> None:
    ada = await log_in(door, "ada@example.org")

    made = await post(door, ada, payload={"n": 1}, priority="high", scheduled_at=30)
    shown = await door.client.get(made.headers["location"], headers=ada)

    assert (made.status_code, shown.json()) == (201, made.json())
    task = made.json()
    assert {name: task[name] for name in ("title", "payload", "priority", "status", "owner_id", "retry_count")} == {
        "title": "report",
        "payload": {"n": 1},
        "priority": "high",
        "status": "PENDING",
        "owner_id": "person:1",
        "retry_count": 0,
    }
    minutes = datetime.fromisoformat(task["scheduled_at"]) - datetime.fromisoformat(task["created_at"])
    assert minutes == timedelta(minutes=30)


async def test_duplicate_title_and_payload_is_rejected_until_the_task_has_finished(door: Door, connection: Sql) -> None:
    ada, bob = await log_in(door, "ada"), await log_in(door, "bob")
    first = await post(door, ada, payload={"n": 1})

    statuses = [(await post(door, who, payload={"n": n})).status_code for who, n in ((ada, 1), (ada, 2), (bob, 1))]
    connection.execute("select rolecall.complete_task(%s)", [first.json()["id"]])
    again = await post(door, ada, payload={"n": 1})

    assert (statuses, again.status_code) == ([409, 201, 201], 201)


async def test_task_of_another_owner_cannot_be_seen_or_deleted(door: Door) -> None:
    ada, bob = await log_in(door, "ada"), await log_in(door, "bob", Scope.ADMIN)
    place = (await post(door, ada)).headers["location"]

    seen = await door.client.get(place, headers=bob)
    deleted = await door.client.delete(place, headers=bob)

    assert (seen.status_code, deleted.status_code) == (401, 401)
    assert (await titles(door, bob), await titles(door, ada)) == ([], ["report"])


async def test_task_is_deleted_once_by_its_owner(door: Door) -> None:
    ada = await log_in(door, "ada")
    place = (await post(door, ada)).headers["location"]

    answers = [(await door.client.delete(place, headers=ada)).status_code for _ in range(2)]

    assert answers == [204, 404]
    assert (await door.client.get(place, headers=ada)).status_code == 404


async def test_list_can_be_searched_by_title_filtered_by_status_and_paginated(door: Door, connection: Sql) -> None:
    ada = await log_in(door, "ada")
    ids = [
        (await post(door, ada, title=title)).json()["id"] for title in ("Sales of May", "100% done", "sales of June")
    ]
    connection.execute("select rolecall.complete_task(%s), rolecall.cancel(%s)", [ids[0], [ids[1]]])

    assert await titles(door, ada) == ["sales of June", "100% done", "Sales of May"]
    assert await titles(door, ada, search="SALES") == ["sales of June", "Sales of May"]
    assert await titles(door, ada, search="%") == ["100% done"]
    assert await titles(door, ada, status="COMPLETED") == ["Sales of May"]
    assert await titles(door, ada, status="FAILED") == ["100% done"]
    assert await titles(door, ada, status="RETRYING") == []
    assert await titles(door, ada, skip=1, limit=1) == ["100% done"]


async def test_task_status_is_one_of_six_values(door: Door, connection: Sql) -> None:
    ada = await log_in(door, "ada")
    task_id = (await post(door, ada)).json()["id"]
    row = connection.execute("select rolecall.register_worker('w', '{}', '{report}', 1, 'h', 1, '1')").fetchone()
    assert row is not None

    async def shown_status() -> str:
        answer = await door.client.get(f"{BASE}/tasks/{task_id}", headers=ada)
        return str(answer.json()["status"])

    words = [await shown_status()]
    connection.execute("select rolecall.claim(%s, '{}', '{report}', 1, 0)", row)
    words.append(await shown_status())
    connection.execute("select rolecall.start(%s, array[%s::bigint], '{1}')", [*row, task_id])
    words.append(await shown_status())
    connection.execute("select rolecall.complete_task(%s)", [task_id])
    words.append(await shown_status())

    assert words == ["PENDING", "QUEUED", "IN_PROGRESS", "COMPLETED"]


@pytest.mark.parametrize(
    ("title", "payload", "handler"),
    [("report", {}, "report"), ("Sales", {"type": "report"}, "report"), ("Sales", {"type": 7}, "default")],
)
async def test_handler_is_found_by_payload_type_title_or_default(
    door: Door, title: str, payload: dict[str, object], handler: str
) -> None:
    task_id = (await post(door, await log_in(door, "ada"), title=title, payload=payload)).json()["id"]

    assert (await door.services.tasks.get(task_id)).handler == handler


async def test_task_without_a_handler_is_rejected_if_there_is_no_default(database: str) -> None:
    async with opened(database, app=program(fallback=False)) as door:
        answer = await post(door, await log_in(door, "ada"), title="Sales")

    assert answer.status_code == 422
    assert answer.json()["type"] == "urn:rolecall:handler-missing"


async def test_key_belongs_to_one_person_and_shows_only_their_tasks(door: Door) -> None:
    ada, bob = await log_in(door, "ada"), await log_in(door, "bob")
    await post(door, ada)

    made = (await door.client.post(f"{BASE}/api-keys", json={"name": "ci", "days": 121}, headers=ada)).json()
    hers = {"authorization": f"Bearer {made['api_key']}"}

    assert await titles(door, hers) == ["report"]
    assert (await door.client.get(f"{BASE}/api-keys", headers=bob)).json() == []
    place = f"{BASE}/api-keys/{made['id']}"
    answers = [(await door.client.delete(place, headers=who)).status_code for who in (bob, ada, ada)]
    assert answers == [403, 204, 404]
    assert (await door.client.get(f"{BASE}/tasks", headers=hers)).status_code == 401


async def test_key_cannot_create_another_key_or_one_with_more_rights(door: Door) -> None:
    ada = await log_in(door, "ada")
    made = (await door.client.post(f"{BASE}/api-keys", json={"name": "ci"}, headers=ada)).json()
    by_key = {"authorization": f"Bearer {made['api_key']}"}
    wish = {"name": "more", "scope": "admin"}

    answers = [await door.client.post(f"{BASE}/api-keys", json=wish, headers=who) for who in (by_key, ada)]

    assert [answer.status_code for answer in answers] == [403, 403]


async def test_key_lifetime_is_1_to_121_days(door: Door) -> None:
    ada = await log_in(door, "ada")

    async def made(days: int) -> int:
        wish = {"name": "ci", "days": days}
        return (await door.client.post(f"{BASE}/api-keys", json=wish, headers=ada)).status_code

    assert [await made(days) for days in (0, 1, 121, 122)] == [422, 201, 201, 422]


async def test_keys_of_a_person_are_removed_with_the_person(door: Door) -> None:
    ada = await log_in(door, "ada")
    made = (await door.client.post(f"{BASE}/api-keys", json={"name": "ci"}, headers=ada)).json()

    await door.services.people.remove("ada")

    answer = await door.client.get("/api/me", headers={"authorization": f"Bearer {made['api_key']}"})
    assert answer.status_code == 401


async def test_administrator_adds_people_who_can_log_in(door: Door) -> None:
    root = await door.key(Scope.ADMIN)
    user = {"username": "bob@example.org", "password": PASSWORD}

    answers = [(await door.client.post(f"{BASE}/users", json=user, headers=root)).status_code for _ in range(2)]
    token = await door.client.post(f"{BASE}/login", json=user)

    assert (answers, token.status_code) == ([201, 409], 200)
    assert [who["name"] for who in (await door.client.get(f"{BASE}/users", headers=root)).json()] == [user["username"]]


async def test_logout_ends_the_token_it_was_sent_with(door: Door) -> None:
    ada = await log_in(door, "ada")

    assert (await door.client.post("/api/logout", headers=ada)).status_code == 204
    assert (await door.client.get("/api/me", headers=ada)).status_code == 401


async def test_token_expires_with_its_session(door: Door, connection: Sql) -> None:
    ada = await log_in(door, "ada")
    assert (await door.client.get("/api/me", headers=ada)).json() == {"name": "ada", "scope": "operate"}

    connection.execute("update rolecall.sessions set expires_at = now() - interval '1 s'")

    assert (await door.client.get("/api/me", headers=ada)).status_code == 401


async def test_person_added_here_can_use_only_these_routes(door: Door) -> None:
    root = await door.key(Scope.ADMIN)
    bob = {"username": "bob", "password": PASSWORD}
    added = await door.client.post(f"{BASE}/users", json=bob, headers=root)
    token = (await door.client.post(f"{BASE}/login", json=bob)).json()["access_token"]
    headers = {"authorization": f"Bearer {token}"}
    key = (await door.client.post(f"{BASE}/api-keys", json={"name": "ci"}, headers=headers)).json()
    more = await door.client.post(f"{BASE}/api-keys", json={"name": "ci", "scope": "read"}, headers=headers)

    assert (added.json()["scope"], key["scope"], more.status_code) == ("own", "own", 403)
    by_key = {"authorization": f"Bearer {key['api_key']}"}
    routes = [*TABLE, *EVERY_TABLE]
    assert await departures(door.application, routes, "own", by_key) == []
    but_logout = [entry for entry in routes if not entry.path.endswith("/logout")]
    assert await departures(door.application, but_logout, "own", headers) == []


async def test_task_of_one_owner_is_inaccessible_to_another_on_every_route(door: Door) -> None:
    ada, bob = await log_in(door, "ada", Scope.OWN), await log_in(door, "bob", Scope.OWN)
    task_id = (await post(door, ada, payload={"secret": "x"})).json()["id"]
    paths = [(e.method, e.path.replace("{task_id:int}", str(task_id))) for e in EVERY_TABLE if "{task_id" in e.path]

    answers = {
        (method, path): (await door.client.request(method, path, headers=bob)).status_code for method, path in paths
    }

    assert set(answers.values()) == {403}, answers
    assert await titles(door, ada) == ["report"]


async def test_reader_cannot_create_a_task_or_a_key_that_could(door: Door) -> None:
    eve = await log_in(door, "eve", Scope.READ)

    task = await post(door, eve)
    key = await door.client.post(f"{BASE}/api-keys", json={"name": "ci", "scope": "own"}, headers=eve)

    assert (task.status_code, key.status_code) == (403, 403)


async def test_status_is_ok_or_503(door: Door) -> None:
    good = await door.client.get(f"{BASE}/status")
    door.application.state.rolecall.closing.set()

    assert (good.status_code, good.json()) == (200, {"status": "ok", "database": "ok", "redis": None})
    assert (await door.client.get(f"{BASE}/status")).status_code == 503


async def test_status_requires_redis_to_respond_if_configured(database: str, redis_server: Broker) -> None:
    async with opened(database, app=program(), redis=redis_server.url) as door:
        good = await door.client.get(f"{BASE}/status")
        redis_server.kill()
        bad = await door.client.get(f"{BASE}/status")

    assert (good.json()["redis"], bad.status_code) == ("ok", 503)


async def test_server_that_fails_closes_its_connection_to_redis(database: str, redis_server: Broker) -> None:
    async def fail() -> None:
        async with opened(database, app=program(), redis=redis_server.url) as door:
            await door.client.get(f"{BASE}/status")
            raise ValueError("no room")

    with pytest.raises(ValueError, match="no room"):
        await fail()

    link = connect_redis(redis_server.url)
    try:
        await comes_true(lambda: is_alone(link))
    finally:
        await link.close()


async def is_alone(link: RedisLink) -> bool:
    return len(await link.call("CLIENT LIST")) == 1
