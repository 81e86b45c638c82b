"""Capacity over HTTP, with durations measured by the database's clock, which the test sets."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import httpx2
import psycopg
import pytest
from psycopg.types.json import Jsonb

from rolecall.testing import Clock

Connection = psycopg.Connection[Any]
ROLE = "product_resync"


def ask(connection: Connection, query: str, *params: object) -> Sequence[tuple[Any, ...]]:
    return connection.execute(query.encode(), params).fetchall()


@pytest.fixture
async def pool(http: httpx2.AsyncClient, connection: Connection, clock: Clock) -> Connection:
    """A worker has finished ten tasks in 72 s each, one after the other; 500 are pending."""
    clock.set(datetime(2026, 1, 1, tzinfo=UTC))
    ask(connection, "select rolecall.declare(%s)", Jsonb([{"name": ROLE}]))
    ask(connection, "select rolecall.enqueue_many(%s)", Jsonb([{"role": ROLE}] * 10))
    [(worker,)] = ask(connection, "select rolecall.register_worker('w', '{}', %s, 1, 'h', 1, '0')", [ROLE])
    for _ in range(10):
        [(task_id, fence)] = ask(connection, "select id, fence from rolecall.claim(%s, '{}', %s, 1)", worker, [ROLE])
        clock.advance(seconds=72)
        report = {"id": task_id, "fence": fence, "outcome": "completed"}
        ask(connection, "select from rolecall.finish(%s, %s)", worker, Jsonb([report]))
    ask(connection, "select rolecall.enqueue_many(%s)", Jsonb([{"role": ROLE}] * 500))
    ask(connection, "select from rolecall.beat(%s, 0, false)", worker)
    return connection


@pytest.mark.usefixtures("pool")
async def test_500_tasks_at_rate_50_need_10_3_and_2_workers(http: httpx2.AsyncClient) -> None:
    answer = (await http.get(f"/api/tasks/capacity/{ROLE}")).json()

    assert (answer["pending_tasks"], answer["active_workers"]) == (500, 1)
    assert answer["workers_needed"] == {"for_1_hour": 10, "for_4_hours": 3, "for_8_hours": 2}
    assert answer["capacity"]["tasks_per_worker_hour"] == pytest.approx(50)
    assert answer["estimated_hours_to_drain"] == pytest.approx(10)
    assert (answer["arrival_rate"], answer["drains"], answer["hours_with_arrivals"]) == (510, "never", None)


@pytest.mark.usefixtures("pool")
async def test_capacity_accepts_a_number_of_workers_and_a_target_wait(http: httpx2.AsyncClient) -> None:
    params = {"workers": 12, "target_wait_s": 1800, "hours": 2}
    answer = (await http.get(f"/api/tasks/capacity/{ROLE}", params=params)).json()

    assert (answer["workers"], answer["service_rate"]) == (12, pytest.approx(600))
    assert answer["workers_for_target_wait"] == 20
    assert answer["drains"] == "drains"
    assert [hour["left_waiting"] for hour in answer["forecast"]] == [pytest.approx(410), pytest.approx(320)]


async def test_schedules_and_scheduled_tasks_are_included_in_the_hourly_forecast(
    http: httpx2.AsyncClient, pool: Connection, clock: Clock
) -> None:
    later = Jsonb([{"role": ROLE, "after": 5_400}] * 7)
    ask(pool, "select rolecall.enqueue_many(%s)", later)
    at = clock.now().timestamp() + 1_200
    first = datetime.fromtimestamp(at, UTC).isoformat()
    schedule = {"name": "tick", "role": ROLE, "every": 2_400, "first_run_at": first}
    answer = await http.post("/api/schedules", json={**schedule, "handler": ROLE})
    assert answer.status_code == 201, answer.text

    forecast = (await http.get(f"/api/tasks/capacity/{ROLE}", params={"hours": 3})).json()["forecast"]

    assert [hour["becoming_due"] for hour in forecast] == [0, 7, 0]
    assert [hour["scheduled"] for hour in forecast] == [1, 2, 1]


async def test_capacity_without_measurements_is_null(http: httpx2.AsyncClient) -> None:
    await http.post("/api/tasks", json={"handler": "add", "payload": {}})

    answer = (await http.get("/api/tasks/capacity/sums")).json()

    assert answer["workers_needed"] == {"for_1_hour": None, "for_4_hours": None, "for_8_hours": None}
    assert answer["capacity"]["tasks_per_worker_hour"] is None
    assert (answer["service_rate"], answer["estimated_hours_to_drain"], answer["drains"]) == (0, None, "never")


@pytest.mark.usefixtures("pool")
async def test_capacity_lists_all_roles(http: httpx2.AsyncClient) -> None:
    answer = (await http.get("/api/tasks/capacity")).json()

    by_role = {item["role"]: item for item in answer["items"]}
    assert by_role.keys() == {ROLE, "sums"}
    assert by_role[ROLE]["estimated_hours_to_drain"] == pytest.approx(10)
    assert (by_role[ROLE]["claimed_last_hour"], by_role[ROLE]["completed_last_hour"]) == (10, 10)


@pytest.mark.parametrize("params", [{"workers": -1}, {"target_wait_s": 0}, {"hours": 25}, {"workers": "many"}], ids=str)
async def test_invalid_capacity_parameters_are_rejected(http: httpx2.AsyncClient, params: dict[str, Any]) -> None:
    assert (await http.get("/api/tasks/capacity/sums", params=params)).status_code == 422


async def test_unknown_role_is_not_found_and_a_similar_name_is_suggested(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/api/tasks/capacity/sum")

    assert (answer.status_code, answer.json()["type"]) == (404, "urn:rolecall:role-not-found")
    assert "did you mean 'sums'" in answer.json()["detail"]
