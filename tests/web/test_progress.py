"""Progress over HTTP."""

from __future__ import annotations

import httpx2
import pytest

from rolecall.db.connect import connect_async
from rolecall.db.run import run_async
from rolecall.model.tasks import NewTask
from rolecall.sql import enqueue


@pytest.fixture
async def task_id(database: str) -> int:
    async with await connect_async(database, "test") as connection:
        [enqueued] = await run_async(connection, enqueue.enqueue_many([NewTask(handler="add")]))
        return enqueued.id


async def test_progress_of_a_task_is_returned(http: httpx2.AsyncClient, task_id: int) -> None:
    answer = await http.get(f"/api/tasks/{task_id}/progress", params={"weight": "add:3"})

    assert answer.status_code == 200
    assert answer.json() == {
        "id": task_id,
        "role": "sums",
        "handler": "add",
        "state": "pending",
        "activity": "pending",
        "fraction": 0.0,
        "step": None,
        "phases": [],
        "info": {},
    }


async def test_progress_of_an_unknown_task_is_not_found(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/api/tasks/4711/progress")

    assert answer.status_code == 404


async def test_invalid_weight_is_rejected(http: httpx2.AsyncClient, task_id: int) -> None:
    answer = await http.get(f"/api/tasks/{task_id}/progress", params={"weight": "add"})

    assert answer.status_code == 422
    assert "fetch:3" in answer.json()["detail"]
