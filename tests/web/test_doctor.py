"""The pool's health over HTTP."""

from __future__ import annotations

from typing import Any

import httpx2
import psycopg


async def test_doctor_findings_are_returned_over_http(
    http: httpx2.AsyncClient, connection: psycopg.Connection[Any]
) -> None:
    await enqueue_late(http, connection)

    answer = (await http.get("/api/doctor")).json()

    assert answer["verdict"] == "trouble"
    assert "no_worker" in {found["check"] for found in answer["findings"]}
    assert {"notifications", "hanging"} <= set(answer["checks"])


async def test_problem_links_to_exactly_its_tasks(
    http: httpx2.AsyncClient, connection: psycopg.Connection[Any]
) -> None:
    task_id = await enqueue_late(http, connection)

    [problem] = (await http.get("/api/problems")).json()
    tasks = (await http.get(f"/api{problem['path']}")).json()["items"]

    assert (problem["kind"], problem["count"]) == ("no_worker", 1)
    assert problem["since"] is not None
    assert [task["id"] for task in tasks] == [task_id]


async def test_problems_are_metrics(http: httpx2.AsyncClient, connection: psycopg.Connection[Any]) -> None:
    await enqueue_late(http, connection)

    metrics = (await http.get("/metrics")).text

    assert 'rolecall_pool_problems{kind="no_worker"} 1.0' in metrics
    assert 'rolecall_pool_problems{kind="hanging"} 0.0' in metrics


async def enqueue_late(http: httpx2.AsyncClient, connection: psycopg.Connection[Any]) -> int:
    """Store a task that has waited for a minute; return its id."""
    stored = await http.post("/api/tasks", json={"handler": "add", "payload": {}})
    connection.execute("update rolecall.tasks set created_at = created_at - interval '1 min'")
    connection.execute("update rolecall.tasks set scheduled_for = created_at")
    return int(stored.json()["id"])


async def test_failing_duty_is_reported_over_http(
    http: httpx2.AsyncClient, connection: psycopg.Connection[Any]
) -> None:
    connection.execute("select rolecall.record_duty('test duty', 60, 'w', 'no room left')")
    connection.execute("update rolecall.duties set unfinished_since = unfinished_since - interval '100 s'")

    found = (await http.get("/api/doctor")).json()["findings"]

    assert any("test duty has failed for 10" in each["problem"] and "no room left" in each["problem"] for each in found)
