"""A request that is repeated with its Idempotency-Key gets the same response, and is carried out once."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import psycopg

from tests.web.test_tasks import ADD, get


async def post(http: httpx2.AsyncClient, body: object, key: str = "first", path: str = "/api/tasks") -> httpx2.Response:
    return await http.post(path, json=body, headers={"Idempotency-Key": key})


async def stored(http: httpx2.AsyncClient) -> int:
    return sum(count["number"] for count in await get(http, "/api/tasks/counts"))


async def test_repeated_request_is_replayed_and_not_executed_again(http: httpx2.AsyncClient) -> None:
    first, second = await post(http, ADD), await post(http, ADD)

    assert (first.status_code, second.status_code) == (201, 201)
    assert (second.json(), second.headers["location"]) == (first.json(), first.headers["location"])
    assert ("idempotency-replayed" in first.headers, second.headers["idempotency-replayed"]) == (False, "true")
    assert await stored(http) == 1
    assert len((await get(http, "/api/audit"))["items"]) == 1


async def test_repeated_batch_is_stored_once(http: httpx2.AsyncClient) -> None:
    batch = {"tasks": [ADD, ADD]}

    answers = [await post(http, batch, path="/api/tasks/batch") for _ in range(2)]

    assert answers[0].json() == answers[1].json()
    assert await stored(http) == 2


async def test_different_request_needs_a_different_key(http: httpx2.AsyncClient) -> None:
    await post(http, ADD)

    refused = await post(http, ADD | {"priority": 1})

    assert (refused.status_code, refused.json()["type"]) == (422, "urn:rolecall:request-key-reused")
    assert (await post(http, ADD | {"priority": 1}, key="second")).status_code == 201


async def test_rejection_is_not_stored_for_the_key(
    http: httpx2.AsyncClient, connection: psycopg.Connection[Any]
) -> None:
    refused = await post(http, {"handler": "ad"})
    assert (refused.status_code, "did you mean 'add'" in refused.text) == (422, True)

    connection.execute("""select rolecall.declare('[]', '[{"name": "ad", "role": "sums"}]')""")

    assert (await post(http, {"handler": "ad"})).status_code == 201


async def test_request_in_progress_is_not_started_again(
    http: httpx2.AsyncClient, connection: psycopg.Connection[Any]
) -> None:
    with connection.transaction():
        connection.execute("select rolecall.take_request('local', 'first', '')")
        refused = await post(http, ADD)

    assert (refused.status_code, refused.json()["type"]) == (409, "urn:rolecall:request-under-way")
    assert (await post(http, ADD)).status_code == 201


async def test_only_one_of_many_simultaneous_requests_is_executed(http: httpx2.AsyncClient) -> None:
    answers = await asyncio.gather(*(post(http, ADD) for _ in range(6)))

    assert {answer.status_code for answer in answers} <= {201, 409}
    assert await stored(http) == 1


async def test_response_is_stored_for_a_day(http: httpx2.AsyncClient, connection: psycopg.Connection[Any]) -> None:
    first = await post(http, ADD)
    connection.execute("update rolecall.requests set answered_at = answered_at - interval '25 hours'")

    assert dict(connection.execute("select * from rolecall.prune()").fetchall())["requests"] == 1
    assert (await post(http, ADD)).json() != first.json()
