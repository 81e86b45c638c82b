"""Requests of programs that were written for the original systems.

Requests to the crawler are tested among its own tests.
"""

from __future__ import annotations

from typing import Any

import httpx2
import psycopg
import pytest

from tests.web.old_requests import Old, answered_otherwise

LATER = '{"handler": "add", "after": 600}'


TASK = "id role status priority scheduled_for worker_id claimed_at started_at error retry_count max_retries created_at"
CAPACITY = "pending_tasks ready_tasks running_tasks active_workers tasks_per_worker_hour estimated_hours_to_drain"
SCHEDULE = "id name role enabled interval_hours priority last_run_at next_run_at last_task_count last_error immutable"
REQUESTS = [
    Old("GET /api/tasks", 200, TASK),
    Old("GET /api/tasks?role=sums&status=pending", 200, TASK),
    Old("GET /api/tasks?worker_id=1&limit=10", 200),
    Old("GET /api/tasks?status=stale", 200),
    Old("POST /api/tasks", 201, "id", {"handler": "add", "priority": 10, "max_retries": 3}),
    Old("POST /api/tasks", 201, "id", {"handler": "add", "scheduled_for": None, "payload": {"payload_id": 9}}),
    Old("GET /api/tasks/{task}", 200, f"{TASK} payload result"),
    Old("GET /api/tasks/999", 404, "type title status detail"),
    Old("GET /api/tasks/counts", 200, "role state number"),
    Old("GET /api/tasks/capacity", 200, CAPACITY),
    Old("GET /api/tasks/capacity/sums", 200, "pending_tasks active_workers workers_needed"),
    Old("POST /api/tasks/recover-stale", 200, "recovered tasks"),
    Old("POST /api/tasks/recover-stale", 200, "recovered tasks", {}),
    Old("POST /api/tasks/recover-stale", 200, "recovered tasks", {"threshold_minutes": 10}),
    Old("GET /api/schedules", 200, SCHEDULE),
    Old("PUT /api/schedules/{schedule}", 200, SCHEDULE, {"enabled": False}),
    Old("PUT /api/schedules/{schedule}", 200, SCHEDULE, {"interval_hours": 6, "priority": 5}),
    Old("POST /api/schedules/{schedule}/trigger", 200, "task_id"),
    Old("GET /api/workers/k8s/replicas", 503, "type title status detail"),
    Old("POST /api/workers/k8s/scale", 503, "type title status detail", {"replicas": 8}),
    Old("GET /api/chains", 200, "id status"),
    Old("GET /api/chains/{task}", 200, "id status tasks payload result"),
    Old("GET /api/chains/{task}/blocking", 200),
    Old("GET /api/jobs", 200, TASK),
    Old("GET /api/jobs?status=pending&roots=true&ids={task}", 200, TASK),
    Old("GET /api/jobs/{task}", 200, f"{TASK} payload result"),
    Old("POST /api/jobs/{task}/trigger", 200, "id scheduled_for"),
    Old("DELETE /api/chains/{task}?cascade=true", 200, "deleted"),
    Old("DELETE /api/chains/999?cascade=true", 404, "type title status detail"),
]


@pytest.fixture
async def places(http: httpx2.AsyncClient, database: str) -> dict[str, Any]:
    """A scheduled task and a schedule, by their names in the requests."""
    with psycopg.connect(database, autocommit=True) as connection:
        row = connection.execute("select ids[1] from rolecall.enqueue_many(%s)", [f"[{LATER}]"]).fetchone()
        assert row is not None
    rule = {"name": "often", "handler": "add", "interval_hours": 4}
    schedule = (await http.post("/api/schedules", json=rule)).json()
    return {"task": row[0], "schedule": schedule["id"]}


async def test_requests_of_earlier_releases_still_get_their_responses(
    http: httpx2.AsyncClient, places: dict[str, Any]
) -> None:
    assert [wrong async for wrong in answered_otherwise(http, REQUESTS, places)] == []


async def test_fields_with_old_names_are_stored_under_the_new_ones(http: httpx2.AsyncClient) -> None:
    sent = await http.post("/api/tasks", json={"handler": "add", "priority": 10, "max_retries": 3})

    task = (await http.get(sent.headers["Location"])).json()
    assert (task["role"], task["handler"], task["priority"], task["max_retries"], task["retry_count"]) == (
        "sums",
        "add",
        10,
        3,
        0,
    )
