"""A completion token finishes its task over HTTP without other credentials."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.web.test_tasks import enqueue, get


async def token_of(http: httpx2.AsyncClient, task_id: int) -> str:
    token: str = (await http.post(f"/api/tasks/{task_id}/token", json={})).json()["token"]
    return token


@pytest.mark.parametrize(
    ("action", "body", "outcome"), [("complete", {"result": 7}, "completed"), ("fail", {"error": "no"}, "failed")]
)
async def test_completion_token_finishes_its_task(
    http: httpx2.AsyncClient, action: str, body: dict[str, Any], outcome: str
) -> None:
    task_id = await enqueue(http)

    answer = await http.post(f"/api/tokens/{action}", json={"token": await token_of(http, task_id), **body})

    assert (answer.status_code, answer.json()) == (200, {"id": task_id, "outcome": outcome})
    assert (await get(http, f"/api/tasks/{task_id}"))["state"] == outcome


async def test_completion_token_can_be_used_only_once(http: httpx2.AsyncClient) -> None:
    shown = {"token": await token_of(http, await enqueue(http))}
    await http.post("/api/tokens/complete", json=shown)

    again = await http.post("/api/tokens/complete", json=shown)

    assert (again.status_code, again.json()["type"]) == (404, "urn:rolecall:invalid-token")
    assert shown["token"] not in again.text


async def test_audit_log_records_the_use_of_a_token_without_the_token(http: httpx2.AsyncClient) -> None:
    token = await token_of(http, await enqueue(http))
    await http.post("/api/tokens/complete", json={"token": token})

    log = await http.get("/api/audit")

    assert log.json()["items"][0]["actor"] == "bearer of a token"
    assert token not in log.text
