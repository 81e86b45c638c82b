"""Workers and the pauses of roles over HTTP."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import httpx2
import psycopg
import pytest
from psycopg.types.json import Jsonb

Connection = psycopg.Connection[Any]


@pytest.fixture
def worker(http: httpx2.AsyncClient, connection: Connection) -> int:
    """A registered worker that runs one of two tasks."""
    connection.execute("select rolecall.enqueue_many(%s)", [Jsonb([{"role": "sums", "handler": "add"}] * 2)])
    query = "select rolecall.register_worker('w', '{sums}', '{add}', 2, 'host', 7, '0', 'pod-1', 'node-1')"
    [(worker_id,)] = connection.execute(query).fetchall()
    connection.execute("select from rolecall.claim(%s, '{}', '{add}', 1)", [worker_id])
    condition = Jsonb({"cpu": 0.5, "memory": 0.25, "memory_bytes": 1024})
    connection.execute("select rolecall.beat(%s, 1, false, %s)", [worker_id, condition])
    return int(worker_id)


async def test_worker_list_shows_the_location_tasks_and_resource_usage(http: httpx2.AsyncClient, worker: int) -> None:
    answer = (await http.get("/api/workers")).json()

    [found] = answer["items"]
    assert (found["id"], found["pod"], found["node"], found["roles"]) == (worker, "pod-1", "node-1", ["sums"])
    assert (found["cpu"], found["memory"], found["memory_bytes"]) == (0.5, 0.25, 1024)
    assert (found["slots"], found["held"], len(found["running_tasks"]), found["state"]) == (2, 1, 1, "busy")


async def test_worker_is_shown_with_its_running_tasks(http: httpx2.AsyncClient, worker: int) -> None:
    answer = (await http.get(f"/api/workers/{worker}")).json()

    assert [task["id"] for task in answer["tasks"]] == answer["worker"]["running_tasks"]
    assert answer["tasks"][0]["state"] == "running"


async def test_worker_can_be_drained_decommissioned_and_resumed(http: httpx2.AsyncClient, worker: int) -> None:
    result = [
        (await http.post(f"/api/workers/{worker}/{verb}")).json()["command"]
        for verb in ("drain", "decommission", "resume")
    ]

    assert result == ["drain", "decommission", None]


async def test_each_command_is_recorded_in_the_audit_log(
    http: httpx2.AsyncClient, worker: int, connection: Connection
) -> None:
    await http.post(f"/api/workers/{worker}/drain")

    [(action, detail)] = connection.execute("select action, detail from rolecall.audit_log").fetchall()
    assert (action, detail) == ("workers.drain", {"worker_id": worker})


@pytest.mark.parametrize("path", ["", "/drain", "/decommission", "/resume"])
async def test_unknown_worker_is_not_found(http: httpx2.AsyncClient, path: str) -> None:
    answer = await http.request("POST" if path else "GET", f"/api/workers/4711{path}")

    assert (answer.status_code, answer.json()["type"]) == (404, "urn:rolecall:unknown-worker")


async def test_role_can_be_paused_for_a_time_and_resumed(http: httpx2.AsyncClient) -> None:
    pause = (await http.post("/api/roles/sums/pause", json={"seconds": 600})).json()
    began, ends = (datetime.fromisoformat(pause[name]) for name in ("paused_at", "paused_until"))
    assert ends - began == timedelta(seconds=600)
    assert pause["paused_by"] == "local"

    resumed = [(await http.post("/api/roles/sums/resume")).json() for _ in range(2)]

    assert resumed == [{"role": "sums", "was_paused": True}, {"role": "sums", "was_paused": False}]


async def test_pause_without_a_body_lasts_until_it_is_lifted(http: httpx2.AsyncClient) -> None:
    assert (await http.post("/api/roles/sums/pause")).json()["paused_until"] is None


@pytest.mark.parametrize(
    "body", [{"seconds": 0}, {"seconds": "9"}, {"seconds": True}, {"minutes": 1}, {"seconds": 1e9}], ids=str
)
async def test_invalid_pause_is_rejected(http: httpx2.AsyncClient, body: dict[str, object]) -> None:
    assert (await http.post("/api/roles/sums/pause", json=body)).status_code == 422


@pytest.mark.parametrize("verb", ["pause", "resume"])
async def test_unknown_role_is_not_found_and_a_similar_name_is_suggested(http: httpx2.AsyncClient, verb: str) -> None:
    answer = await http.post(f"/api/roles/sum/{verb}")

    assert answer.status_code == 404
    assert "did you mean 'sums'" in answer.json()["detail"]
