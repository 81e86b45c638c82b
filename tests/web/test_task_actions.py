"""Actions on tasks over HTTP and their errors."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.web.test_tasks import ADD, enqueue, get

LATER = "2031-01-31T12:00:00Z"


async def act(http: httpx2.AsyncClient, task_id: int, action: str, body: object = None) -> tuple[int, Any]:
    answer = await http.post(f"/api/tasks/{task_id}/{action}", json=body)
    return answer.status_code, answer.json()


async def ended(http: httpx2.AsyncClient) -> int:
    task_id = await enqueue(http)
    assert await act(http, task_id, "complete", {}) == (200, {"id": task_id, "outcome": "completed"})
    return task_id


@pytest.mark.parametrize(
    ("action", "body", "outcome"),
    [("cancel", None, "cancelled"), ("complete", {"result": 7}, "completed"), ("fail", {"error": "no"}, "failed")],
)
async def test_open_task_can_be_finished(http: httpx2.AsyncClient, action: str, body: object, outcome: str) -> None:
    task_id = await enqueue(http)

    assert await act(http, task_id, action, body) == (200, {"id": task_id, "outcome": outcome})
    assert (await get(http, f"/api/tasks/{task_id}"))["state"] == outcome


@pytest.mark.parametrize(("action", "body"), [("cancel", None), ("complete", {}), ("fail", {"error": "no"})])
async def test_task_cannot_be_finished_twice(http: httpx2.AsyncClient, action: str, body: object) -> None:
    status, result = await act(http, await ended(http), action, body)

    assert (status, result["type"]) == (409, "urn:rolecall:task-finished")


async def test_failed_task_can_be_retried(http: httpx2.AsyncClient) -> None:
    task_id = await enqueue(http)
    await act(http, task_id, "fail", {"error": "no"})

    assert await act(http, task_id, "retry") == (200, {"id": task_id, "outcome": "pending"})


async def test_open_task_cannot_be_retried(http: httpx2.AsyncClient) -> None:
    status, result = await act(http, await enqueue(http), "retry")

    assert (status, result["type"]) == (409, "urn:rolecall:task-not-retryable")


async def test_tasks_are_triggered_all_or_none(http: httpx2.AsyncClient) -> None:
    later = [await enqueue(http, scheduled_for=LATER) for _ in range(2)]
    done = await ended(http)

    refused = await http.post("/api/tasks/trigger", json={"ids": [*later, done]})
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:rolecall:task-not-triggerable")
    assert (await get(http, f"/api/tasks/{later[0]}"))["status"] == "scheduled"

    due = await http.post("/api/tasks/trigger", json={"ids": [later[1], later[0]]})
    assert [each["id"] for each in due.json()] == [later[1], later[0]]
    assert (await get(http, f"/api/tasks/{later[0]}"))["status"] == "ready"


async def test_single_task_can_be_triggered(http: httpx2.AsyncClient) -> None:
    status, due = await act(http, await enqueue(http, scheduled_for=LATER), "trigger")

    assert (status, due["scheduled_for"] < LATER) == (200, True)


async def test_completion_token_is_returned_and_not_in_the_audit_log(http: httpx2.AsyncClient) -> None:
    status, result = await act(http, await enqueue(http), "token", {"seconds": 60})

    assert (status, result["token"][:4]) == (201, "rct_")
    assert result["token"] not in (await http.get("/api/audit")).text


async def test_task_can_be_deleted(http: httpx2.AsyncClient) -> None:
    """DELETE returns 204, and then 404."""
    path = f"/api/tasks/{await enqueue(http)}"

    assert [(await http.delete(path)).status_code for _ in range(2)] == [204, 404]


async def test_task_that_is_needed_cannot_be_deleted(http: httpx2.AsyncClient) -> None:
    needed = await enqueue(http)
    await enqueue(http, needs=[needed])

    refused = await http.delete(f"/api/tasks/{needed}")

    assert (refused.status_code, refused.json()["type"]) == (409, "urn:rolecall:chain-needed")


@pytest.mark.parametrize("action", ["retry", "cancel", "complete", "fail", "trigger", "token"])
async def test_missing_task_is_not_found(http: httpx2.AsyncClient, action: str) -> None:
    status, result = await act(http, 4711, action, {"error": "no"} if action == "fail" else None)

    assert (status, result["type"]) == (404, "urn:rolecall:task-not-found")


async def test_every_change_is_recorded_in_the_audit_log(http: httpx2.AsyncClient) -> None:
    task_id = await enqueue(http)
    await act(http, task_id, "cancel")

    page = await get(http, "/api/audit?limit=1")
    older = await get(http, f"/api/audit?cursor={page['next_cursor']}")

    assert [(event["action"], event["actor"], event["via"]) for event in page["items"]] == [
        ("tasks.cancel", "local", "api")
    ]
    assert [event["action"] for event in older["items"]] == ["tasks.enqueue"]
    assert older["next_cursor"] is None
    assert [event["action"] for event in (await get(http, "/api/audit?action=tasks.cancel"))["items"]] == [
        "tasks.cancel"
    ]


async def test_task_can_be_enqueued_by_its_role_alone(http: httpx2.AsyncClient) -> None:
    answer = await http.post("/api/tasks", json={"role": "sums", "payload": ADD["payload"]})

    assert answer.status_code in {201, 422}, answer.text
