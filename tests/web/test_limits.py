"""A request that is too long, too deeply nested or not JSON is rejected before any route, and never with a 5xx."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import psycopg
import pytest
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from rolecall.model.audit import Actor
from rolecall.model.errors import NotAuthenticated
from rolecall.model.operator.access import Caller
from rolecall.model.operator.access import Scope as ScopeOfCaller
from rolecall.web.http.limits import LONGEST_BODY, MOST_BUFFERED, SMALL_BODY, Limits
from tests.web.doors import opened

JSON = {"Content-Type": "application/json"}


async def post(http: httpx2.AsyncClient, body: bytes | str, **headers: str) -> tuple[int, str]:
    answer = await http.post("/api/tasks", content=body, headers=JSON | headers)
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["type"].removeprefix("urn:rolecall:")


def nested(levels: int) -> str:
    return '{"handler": "add", "payload": {"a": ' + "[" * levels + "]" * levels + "}}"


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ("{", 400, "not-json"),
        (b"\xff\xfe{}", 400, "not-json"),
        ('{"handler": "add", "priority": NaN}', 400, "not-json"),
        ('{"handler": "add", "priority": -Infinity}', 400, "not-json"),
        ('{"handler": "add", "payload": {"a": ' + "9" * 5_000 + "}}", 400, "not-json"),
        ('{"handler": "add", "payload": {"a": 1e999}}', 422, "unstorable-body"),
        ('{"handler": "add", "payload": {"a": "\\u0000"}}', 422, "unstorable-body"),
        ('{"handler": "add", "payload": {"\\ud800": 1}}', 422, "unstorable-body"),
        ('{"handler": "add", "\\u0000": 1}', 422, "unstorable-body"),
        (nested(63), 422, "body-too-deep"),
        (nested(20_000), 422, "body-too-deep"),
        (nested(100_000), 422, "body-too-complex"),
        ("[" + "1," * 250_000 + "1]", 422, "body-too-complex"),
        ('["' + "[{," * 100_000 + '"]', 422, "invalid-request"),
        (json.dumps({"payload": {"a": "x" * 1024 * 1024}}), 413, "body-too-large"),
        ("[]", 422, "invalid-request"),
        ("", 422, "invalid-request"),
        ('{"handler": "add", "sort": "id"}', 422, "invalid-request"),
        ('{"handler": "add", "priority": true}', 422, "invalid-request"),
        ('{"handler": "add", "priority": 1e30}', 422, "invalid-request"),
        ('{"handler": "add", "scheduled_for": 1}', 422, "invalid-request"),
        ('{"handler": "add", "scheduled_for": "2030-01-01T00:00:00"}', 422, "invalid-request"),
        ('{"handler": "add", "needs": [9007199254740993]}', 422, "invalid-request"),
        ('{"handler": "add", "needs": [{"task": 1, "chain": 1}]}', 422, "invalid-task"),
        ('{"handler": "add", "needs": [{"item": 0}]}', 422, "invalid-task"),
        ('{"handler": "add", "dedupe": {"mode": "keep", "merge": {"a": "sum"}}}', 422, "invalid-task"),
        ('{"handler": "add", "needs": [4711]}', 422, "invalid-task"),
        ("{}", 422, "unknown-role"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_malformed_body_is_rejected(http: httpx2.AsyncClient, body: bytes | str, status: int, kind: str) -> None:
    assert await post(http, body) == (status, kind)


async def test_body_with_the_maximum_nesting_is_accepted(http: httpx2.AsyncClient) -> None:
    answer = await http.post("/api/tasks", content=nested(62), headers=JSON)

    assert answer.status_code == 201


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""])
async def test_body_of_another_content_type_is_rejected(http: httpx2.AsyncClient, kind: str) -> None:
    assert await post(http, "{}", **{"Content-Type": kind}) == (415, "unsupported-media-type")


async def test_body_is_not_read_beyond_its_limit(http: httpx2.AsyncClient) -> None:
    answer = await http.post("/api/tasks/batch", content=b"x" * 10_000_000, headers=JSON)

    assert answer.status_code == 413


async def test_batch_contains_at_most_a_thousand_tasks(http: httpx2.AsyncClient) -> None:
    answer = await http.post("/api/tasks/batch", json={"tasks": [{"handler": "add"}] * 1_001})

    assert (answer.status_code, answer.json()["errors"][0]["where"]) == (422, "body.tasks")


@pytest.mark.parametrize("path", ["/api/tasks/" + "9" * 5_000, "/api/chains?state=" + "x" * 20_000])
async def test_too_long_path_is_rejected(http: httpx2.AsyncClient, path: str) -> None:
    assert (await http.get(path)).status_code == 414


@pytest.mark.parametrize("path", ["/api/chains", "/api/audit", "/api/tasks", "/api/tasks/1/children"])
async def test_page_parameters_out_of_range_are_rejected(http: httpx2.AsyncClient, path: str) -> None:
    await http.post("/api/tasks", json={"handler": "add"})

    for query in ("limit=0", "limit=501", "limit=1e9", "limit=x", "cursor=0", "cursor=AQAAAAAAAAAB"):
        assert (await http.get(f"{path}?{query}")).status_code == 422, query


async def test_id_out_of_range_is_rejected(http: httpx2.AsyncClient) -> None:
    for number in (0, 2**53, 2**63, 10**40):
        assert (await http.get(f"/api/tasks/{number}")).status_code == 422, number


async def nobody(request: Request) -> Caller:
    raise NotAuthenticated("show an API key")


async def somebody(request: Request) -> Caller:
    return Caller(actor=Actor(name="ada", via="api"), scope=ScopeOfCaller.OPERATE)


def half(body: bytes) -> list[Message]:
    return [{"type": "http.request", "body": body, "more_body": True}, {"type": "http.disconnect"}]


def post_scope() -> Scope:
    return {
        "type": "http",
        "method": "POST",
        "path": "/api/tasks",
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
    }


async def test_request_of_a_client_that_disconnected_midway_is_not_executed() -> None:
    carried_out = []

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        carried_out.append(scope)

    parts = half(b'{"handler": "add"}')

    async def receive() -> Message:
        return parts.pop(0)

    async def send(message: Message) -> None:
        raise AssertionError(message)

    await Limits(application, nobody)(post_scope(), receive, send)

    assert carried_out == []


async def test_large_bodies_share_a_memory_limit_and_small_ones_are_always_accepted() -> None:
    going_on = asyncio.Event()
    statuses = []

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        await going_on.wait()

    async def send(message: Message) -> None:
        statuses.append(message.get("status"))

    def post_body(limits: Limits, size: int) -> asyncio.Task[None]:
        body = b'"' + b"x" * (size - 2) + b'"'

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        return asyncio.create_task(limits(post_scope(), receive, send))

    limits = Limits(application, somebody)
    held = [post_body(limits, LONGEST_BODY) for _ in range(MOST_BUFFERED // LONGEST_BODY)]
    done, _ = await asyncio.wait([post_body(limits, SMALL_BODY + 1)], timeout=30)
    small = post_body(limits, SMALL_BODY)
    going_on.set()
    await asyncio.gather(*held, small, *done)
    after = post_body(limits, LONGEST_BODY)
    await after

    assert statuses == [503, None]


async def test_slow_read_is_ended(http: httpx2.AsyncClient, connection: psycopg.Connection[Any]) -> None:
    with connection.transaction():
        connection.execute("lock table rolecall.roles in access exclusive mode")
        answer = await http.get("/api/roles")

    assert (answer.status_code, answer.json()["type"]) == (503, "urn:rolecall:database-unavailable")
    assert (await http.get("/api/roles")).status_code == 200


async def test_body_of_an_unknown_caller_is_read_only_up_to_16_kb(database: str) -> None:
    async with opened(database) as door:
        small = await door.client.post(
            "/api/tokens/complete", content=b"[" + b" " * (SMALL_BODY - 2) + b"]", headers=JSON
        )
        large = await door.client.post("/api/tokens/complete", content=b"[" + b" " * SMALL_BODY + b"]", headers=JSON)
        known = await door.client.post(
            "/api/tasks", content=b"[" + b" " * SMALL_BODY + b"]", headers=JSON | await door.key(ScopeOfCaller.OPERATE)
        )

    assert (small.status_code, large.status_code, known.status_code) == (422, 401, 422)
    assert "at most 16384 bytes" in large.json()["detail"]


async def test_request_with_a_large_body_is_counted_once(database: str) -> None:
    async with opened(database, requests_per_minute=2) as door:
        headers = JSON | await door.key(ScopeOfCaller.OPERATE)
        large = json.dumps({"handler": "x" * 20_000})
        statuses = [(await door.client.post("/api/tasks", content=large, headers=headers)).status_code for _ in "123"]

    assert statuses == [422, 422, 429]


async def test_largest_batch_is_accepted(http: httpx2.AsyncClient) -> None:
    lines = [{"sku": "A1", "number": 2}] * 36
    batch = json.dumps({"tasks": [{"handler": "add", "payload": {"lines": lines}}] * 1_000}, separators=(",", ":"))

    answer = await http.post("/api/tasks/batch", content=batch, headers=JSON)

    assert 900_000 < len(batch) < LONGEST_BODY
    assert answer.status_code == 201


async def test_large_body_does_not_block_the_event_loop() -> None:
    parts: list[Message] = [
        {"type": "http.request", "body": b"[" + b"123," * 199_000 + b"1]", "more_body": False},
    ]
    passed = []

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        passed.append(scope)

    async def receive() -> Message:
        return parts.pop()

    async def send(message: Message) -> None:
        raise AssertionError(message)

    asking = asyncio.create_task(Limits(application, somebody)(post_scope(), receive, send))
    turns = 0
    while not asking.done():
        turns += 1
        await asyncio.sleep(0)

    assert passed == [post_scope()]
    assert turns > 10
