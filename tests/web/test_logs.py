"""The log of a task over HTTP."""

from __future__ import annotations

from typing import Any

import httpx2
import psycopg
import pytest

from rolecall.db.run import run
from rolecall.sql import logs
from tests.web.test_tasks import get


@pytest.fixture
async def task_id(http: httpx2.AsyncClient, connection: psycopg.Connection[Any]) -> int:
    """The id of a task with three lines of two attempts."""
    added = int((await http.post("/api/tasks", json={"handler": "add"})).json()["id"])
    parts = [
        {"task_id": added, "fence": 1, "attempt": 1, "part": 1, "lines": [[1, 0, 20, "shop", "a"], [2, 1, 40, "shop", "b"]]},
        {"task_id": added, "fence": 2, "attempt": 2, "part": 1, "lines": [[1, 2.5, 30, "shop", "c"]]},
    ]  # fmt: skip
    run(connection, logs.write(parts))
    return added


async def messages(http: httpx2.AsyncClient, path: str) -> list[str]:
    return [line["message"] for line in (await get(http, path))["items"]]


async def test_lines_are_returned_oldest_first(http: httpx2.AsyncClient, task_id: int) -> None:
    page = await get(http, f"/api/tasks/{task_id}/logs")

    assert [line["message"] for line in page["items"]] == ["a", "b", "c"]
    assert page["items"][2] == {
        "attempt": 2, "fence": 2, "number": 1, "at": "1970-01-01T00:00:02.500000Z", "level": 30, "logger": "shop", "message": "c",
    }  # fmt: skip


async def test_lines_are_filtered_by_attempt_and_level(http: httpx2.AsyncClient, task_id: int) -> None:
    assert await messages(http, f"/api/tasks/{task_id}/logs?attempt=1") == ["a", "b"]
    assert await messages(http, f"/api/tasks/{task_id}/logs?level=warning") == ["b", "c"]
    assert await messages(http, f"/api/tasks/{task_id}/logs?limit=1&last=true") == ["c"]


async def test_cursor_continues_after_the_last_line(
    http: httpx2.AsyncClient, connection: psycopg.Connection[Any], task_id: int
) -> None:
    first = await get(http, f"/api/tasks/{task_id}/logs?limit=2")
    second = await get(http, f"/api/tasks/{task_id}/logs?cursor={first['next_cursor']}")
    third = await get(http, f"/api/tasks/{task_id}/logs?cursor={second['next_cursor']}")
    later = {"task_id": task_id, "fence": 2, "attempt": 2, "part": 2, "lines": [[2, 3, 20, "shop", "d"]]}
    run(connection, logs.write([later]))

    assert [line["message"] for line in second["items"]] == ["c"]
    assert (third["items"], third["next_cursor"]) == ([], second["next_cursor"])
    assert await messages(http, f"/api/tasks/{task_id}/logs?cursor={third['next_cursor']}") == ["d"]


@pytest.mark.parametrize(("path", "status"), [("99/logs", 404), ("1/logs?level=loud", 422), ("1/logs?cursor=x", 422)])
async def test_bad_requests_are_rejected(http: httpx2.AsyncClient, task_id: int, path: str, status: int) -> None:
    assert task_id == 1
    assert (await http.get(f"/api/tasks/{path}")).status_code == status
