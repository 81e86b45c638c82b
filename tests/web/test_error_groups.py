"""Error groups over HTTP."""

from __future__ import annotations

from typing import Any

import httpx2
import psycopg
import pytest

from tests.web.test_tasks import get


@pytest.fixture
async def group(http: httpx2.AsyncClient, connection: psycopg.Connection[Any]) -> int:
    """The id of an error group with three failed tasks."""
    for number in range(3):
        task_id = (await http.post("/api/tasks", json={"handler": "add"})).json()["id"]
        await http.post(f"/api/tasks/{task_id}/fail", json={"error": f"E: order {number}"})
    connection.execute("select rolecall.group_failures()")
    [listed] = (await get(http, "/api/errors"))["items"]
    return int(listed["id"])


async def test_error_groups_are_listed_by_conditions(http: httpx2.AsyncClient, group: int) -> None:
    [listed] = (await get(http, "/api/errors?state=new&state=muted&handler=add&text=order&since=2026-01-01T00:00:00Z"))[
        "items"
    ]

    assert (listed["id"], listed["message"], listed["failed"], sum(listed["hours"])) == (group, "order *", 3, 3)
    assert (await get(http, "/api/errors?since=2099-01-01T00:00:00Z"))["items"] == []


async def test_error_group_is_returned_with_a_latest_error(http: httpx2.AsyncClient, group: int) -> None:
    shown = await get(http, f"/api/errors/{group}")

    assert (shown["failed_tasks"], shown["error"]) == (3, "E: order 2")


async def test_error_group_is_muted_resolved_and_reopened(http: httpx2.AsyncClient, group: int) -> None:
    answers = [(await http.post(f"/api/errors/{group}/{verb}")).json() for verb in ("mute", "resolve", "reopen")]

    assert [(each["was"], each["state"]) for each in answers] == [
        ("new", "muted"), ("muted", "resolved"), ("resolved", "new"),
    ]  # fmt: skip


async def test_failed_tasks_of_an_error_group_are_counted_and_retried(http: httpx2.AsyncClient, group: int) -> None:
    dry = (await http.post(f"/api/errors/{group}/retry", json={"dry_run": True})).json()
    done = (await http.post(f"/api/errors/{group}/retry", json={"rate": 5})).json()

    assert (dry["number"], done["total"], done["state"], done["rate"]) == (3, 3, "waiting", 5)


async def test_tasks_are_filtered_by_error_group(http: httpx2.AsyncClient, group: int) -> None:
    await http.post("/api/tasks", json={"handler": "add"})

    listed = (await get(http, f"/api/tasks?error_group={group}"))["items"]
    retried = (await http.post("/api/tasks/retry", json={"filter": {"error_group": group}, "rate": 1})).json()

    assert [task["error_group"] for task in listed] == [group] * 3
    assert retried["outcomes"] == {"pending": 3}


@pytest.mark.parametrize("path", ["", "/mute", "/retry"])
async def test_unknown_error_group_is_not_found(http: httpx2.AsyncClient, path: str) -> None:
    answer = await http.request("POST" if path else "GET", f"/api/errors/4711{path}")

    assert (answer.status_code, answer.json()["detail"]) == (404, "there is no error group 4711")


@pytest.mark.parametrize("query", ["state=odd", "since=odd", "limit=0", "cursor=odd"])
async def test_invalid_condition_is_rejected(http: httpx2.AsyncClient, query: str) -> None:
    assert (await http.get(f"/api/errors?{query}")).status_code == 422
