"""Tasks are enqueued and read over HTTP."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import psycopg
import pytest

from rolecall.sql.encoding import encode_result

ADD = {"handler": "add", "payload": {"a": 1, "b": 2}}


async def enqueue(http: httpx2.AsyncClient, **words: object) -> int:
    answer = await http.post("/api/tasks", json=ADD | words)
    assert answer.status_code == 201, answer.text
    task_id: int = answer.json()["id"]
    return task_id


async def get(http: httpx2.AsyncClient, path: str) -> Any:
    answer = await http.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_enqueued_task_is_found_at_the_location_in_the_response(http: httpx2.AsyncClient) -> None:
    answer = await http.post("/api/tasks", json=ADD | {"key": "store:7", "priority": 5, "max_attempts": 4})

    assert answer.status_code == 201
    task = await get(http, answer.headers["location"])
    assert (task["handler"], task["payload"], task["key"], task["priority"]) == ("add", {"a": 1, "b": 2}, "store:7", 5)
    assert (task["state"], task["status"], task["attempt"]) == ("pending", "ready", 0)


@pytest.mark.parametrize(("max_attempts", "max_retries"), [(4, 3), (1, 0), (0, None)])
async def test_retries_are_counted_next_to_attempts(
    http: httpx2.AsyncClient, max_attempts: int, max_retries: int | None
) -> None:
    task = await get(http, f"/api/tasks/{await enqueue(http, max_attempts=max_attempts)}")

    assert (task["retry_count"], task["max_retries"]) == (0, max_retries)


async def test_task_belongs_to_the_trace_of_its_request(
    http: httpx2.AsyncClient, connection: psycopg.Connection[Any]
) -> None:
    traceparent = f"00-{1:032x}-{1:016x}-01"
    for headers in ({"traceparent": traceparent, "tracestate": "a=b"}, {"traceparent": "what?"}, {}):
        assert (await http.post("/api/tasks", json=ADD, headers=headers)).status_code == 201

    stored = connection.execute("select trace_context from rolecall.tasks order by id").fetchall()
    assert stored == [(f"{traceparent} a=b",), (None,), (None,)]


async def test_all_task_fields_are_accepted(http: httpx2.AsyncClient) -> None:
    needed = await enqueue(http)
    task_id = await enqueue(
        http,
        role="sums",
        scheduled_for="2031-01-31T12:00:00+01:00",
        dedupe_key="seven",
        dedupe={"mode": "merge", "scope": "pending", "merge": {"a": "sum"}},
        retry={"kind": "exponential", "first": 1, "factor": 2, "cap": 60, "jitter": 0.5},
        timeout=2.5,
        needs=[needed, {"task": needed, "name": "it", "on_failure": "ignore"}],
    )

    task = await get(http, f"/api/tasks/{task_id}")

    assert (task["status"], task["scheduled_for"], task["timeout"]) == ("blocked", "2031-01-31T11:00:00Z", 2.5)
    assert [need["name"] for need in await get(http, f"/api/tasks/{task_id}/needs")] == [None, "it"]


@pytest.mark.parametrize(
    ("words", "at"),
    [
        ({"expires": 90}, "2031-01-31T12:01:30Z"),
        ({"expires_at": "2031-02-01T00:00:00+01:00"}, "2031-01-31T23:00:00Z"),
        ({}, None),
    ],
    ids=str,
)
async def test_task_shows_its_expiry(http: httpx2.AsyncClient, words: dict[str, Any], at: str | None) -> None:
    task_id = await enqueue(http, scheduled_for="2031-01-31T12:00:00Z", **words)

    assert (await get(http, f"/api/tasks/{task_id}"))["expires_at"] == at


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"expires": 0}, "greater than 0"),
        ({"expires": "soon"}, "valid number"),
        ({"expires_at": "2031-01-31T12:00:00"}, "timezone"),
        ({"expires": 5, "expires_at": "2031-01-31T12:00:00Z"}, "exclude each other"),
        ({"after": 60, "expires_at": "1999-01-01T00:00:00Z"}, "before it is due"),
    ],
    ids=str,
)
async def test_invalid_expiry_is_rejected(http: httpx2.AsyncClient, words: dict[str, Any], says: str) -> None:
    answer = await http.post("/api/tasks", json=ADD | words)

    assert answer.status_code == 422
    assert says in answer.text


async def test_duplicate_returns_the_existing_task_with_200(http: httpx2.AsyncClient) -> None:
    task_id = await enqueue(http, dedupe_key="seven")

    answer = await http.post("/api/tasks", json=ADD | {"dedupe_key": "seven"})

    assert (answer.status_code, answer.json()) == (200, {"id": task_id, "deduplicated": True})


async def test_task_of_a_batch_can_need_an_earlier_one(http: httpx2.AsyncClient) -> None:
    answer = await http.post("/api/tasks/batch", json={"tasks": [ADD, ADD | {"needs": [{"item": 0}]}]})

    assert answer.status_code == 201
    first, second = (item["id"] for item in answer.json())
    assert [need["task_id"] for need in await get(http, f"/api/tasks/{second}/needs")] == [first]


async def test_batch_is_stored_completely_or_not_at_all(http: httpx2.AsyncClient) -> None:
    answer = await http.post("/api/tasks/batch", json={"tasks": [ADD, {"handler": "nobody"}]})

    assert (answer.status_code, answer.json()["type"]) == (422, "urn:rolecall:unknown-role")
    assert await get(http, "/api/tasks/counts") == []


async def test_tasks_are_counted(http: httpx2.AsyncClient) -> None:
    await enqueue(http)

    assert await get(http, "/api/tasks/counts") == [{"role": "sums", "state": "pending", "number": 1}]


async def test_unchanged_task_is_not_sent_twice(http: httpx2.AsyncClient) -> None:
    path = f"/api/tasks/{await enqueue(http)}"
    etag = {"If-None-Match": (await http.get(path)).headers["etag"]}

    unchanged = await http.get(path, headers=etag)
    await http.post(f"{path}/cancel")
    changed = await http.get(path, headers=etag)

    assert (unchanged.status_code, unchanged.content) == (304, b"")
    assert (changed.status_code, changed.json()["state"]) == (200, "cancelled")


async def test_payload_and_result_of_a_task_have_their_own_urls(http: httpx2.AsyncClient) -> None:
    path = f"/api/tasks/{await enqueue(http)}"
    await http.post(f"{path}/complete", json={"result": [3]})

    assert await get(http, f"{path}/payload") == {"a": 1, "b": 2}
    assert await get(http, f"{path}/result") == [3]
    timeline = await get(http, f"{path}/timeline")
    assert [entry["kind"] for entry in timeline] == ["created", "completed", "complete"]
    assert [entry["actor"] is None for entry in timeline] == [True, True, False]
    assert await get(http, f"{path}/attempts") == []
    assert [node["depth"] for node in await get(http, f"{path}/tree")] == [0]


async def test_each_attempt_of_a_task_is_listed(http: httpx2.AsyncClient, connection: psycopg.Connection[Any]) -> None:
    task_id = await enqueue(http)
    register = "select rolecall.register_worker('w', '{}', '{add}', 1, 'h', 1, '0')"
    [worker_id] = connection.execute(register).fetchone() or [0]
    connection.execute("select from rolecall.claim(%s, '{}', '{add}', 1)", [worker_id])

    [attempt] = await get(http, f"/api/tasks/{task_id}/attempts")

    assert (attempt["attempt"], attempt["worker_id"], attempt["outcome"], attempt["ended_at"]) == (
        1, worker_id, None, None,
    )  # fmt: skip
    assert attempt["claimed_at"] == attempt["started_at"]


async def test_client_can_wait_for_a_task(http: httpx2.AsyncClient) -> None:
    path = f"/api/tasks/{await enqueue(http)}"
    still_open = await get(http, f"{path}/wait?seconds=0.02")
    await http.post(f"{path}/complete", json={})

    assert still_open["finished_at"] is None
    assert (await get(http, f"{path}/wait?seconds=20"))["state"] == "completed"


@pytest.mark.parametrize(
    "part", ["", "/payload", "/result", "/timeline", "/attempts", "/tree", "/needs", "/wait?seconds=0", "/why"]
)
async def test_missing_task_is_not_found(http: httpx2.AsyncClient, part: str) -> None:
    answer = await http.get(f"/api/tasks/4711{part}")

    assert (answer.status_code, answer.json()["type"]) == (404, "urn:rolecall:task-not-found")


async def test_why_lists_every_cause_that_keeps_a_task_from_running(http: httpx2.AsyncClient) -> None:
    """The role has no live worker, and the task is not due."""
    task_id = await enqueue(http, scheduled_for="2091-01-31T12:00:00Z")

    why = await get(http, f"/api/tasks/{task_id}/why")

    assert (why["task_id"], why["state"]) == (task_id, "pending")
    assert [cause["kind"] for cause in why["causes"]] == ["scheduled", "no_worker"]
    assert why["causes"][0]["until"] == "2091-01-31T12:00:00Z"
    assert why["causes"][0]["change"] == f"it becomes due; to run it now: rolecall tasks trigger {task_id}"
    assert why["causes"][1]["sentence"] == "no live worker serves the role sums"


async def test_task_shows_that_its_result_was_not_stored(http: httpx2.AsyncClient) -> None:
    stored, unstored = await enqueue(http), await enqueue(http)
    marker = encode_result(object())
    await http.post(f"/api/tasks/{stored}/complete", json={"result": 3})
    await http.post(f"/api/tasks/{unstored}/complete", json={"result": json.loads(marker.text)})

    assert (await get(http, f"/api/tasks/{stored}"))["unstored"] is None
    task = await get(http, f"/api/tasks/{unstored}")
    assert (task["unstored"], task["result"]) == (marker.unstored, json.loads(marker.text))
    assert await get(http, f"/api/tasks/{unstored}/result") == json.loads(marker.text)
