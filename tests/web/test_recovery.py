"""The tasks of lost workers are recovered on request."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import httpx2
import psycopg
import pytest

from rolecall.testing import Clock
from tests.web.doors import END_SESSIONS


@pytest.fixture
async def lost(http: httpx2.AsyncClient, connection: psycopg.Connection[Any], clock: Clock) -> int:
    clock.set(datetime(2026, 1, 1, tzinfo=UTC))
    connection.execute("select * from rolecall.rescue()")
    [(worker,)] = connection.execute("select rolecall.register_worker('w', '{}', '{add}', 1, 'h', 1, '0')").fetchall()
    stored = await http.post("/api/tasks", json={"handler": "add", "payload": {}})
    connection.execute("select * from rolecall.claim(%s, '{}', '{add}', 1)", [worker])
    clock.advance(minutes=9)
    return int(stored.json()["id"])


@pytest.mark.parametrize(("body", "recovered"), [({"threshold_minutes": 8}, True), ({}, False), (None, False)], ids=str)
async def test_task_silent_for_longer_than_the_threshold_becomes_pending_again(
    http: httpx2.AsyncClient,
    connection: psycopg.Connection[Any],
    lost: int,
    body: dict[str, Any] | None,
    recovered: bool,
) -> None:
    connection.execute(END_SESSIONS)

    answer = (await http.post("/api/tasks/recover-stale", json=body)).json()

    tasks = [{"id": lost, "state": "pending"}] if recovered else []
    assert answer == {"recovered": len(tasks), "tasks": tasks}


@pytest.mark.parametrize("body", [{"threshold_minutes": -1}, {"threshold_minutes": "1"}, {"minutes": 1}], ids=str)
async def test_invalid_threshold_is_rejected(http: httpx2.AsyncClient, body: dict[str, Any]) -> None:
    assert (await http.post("/api/tasks/recover-stale", json=body)).status_code == 422
