"""The responses of the web application, and the rows and tasks that it stores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from fastapi.testclient import TestClient

from shop.api import make_api
from shop.schemas import OrderOut
from shop.settings import Settings

ORDER = {
    "customer_id": 7,
    "email": "ada@example.org",
    "lines": [{"article": "tea", "quantity": 2, "price": "4.50"}, {"article": "cup", "quantity": 1, "price": "7.00"}],
}
STORED = "select (select count(*) from orders), (select count(*) from rolecall.all_tasks)"

Connection = psycopg.Connection[Any]


@pytest.fixture
def web(database_url: str) -> Iterator[TestClient]:
    with TestClient(make_api(Settings(database_url=database_url))) as web:
        yield web


def test_an_order_is_stored_with_the_task_that_bills_it(web: TestClient, connection: Connection) -> None:
    answer = web.post("/orders", json=ORDER)

    assert (answer.status_code, answer.json()["total"], answer.json()["status"]) == (201, "16.00", "placed")
    tasks = connection.execute("select handler, key, payload -> 'order' ->> 'id' from rolecall.all_tasks").fetchall()
    assert tasks == [("bill_order", "customer:7", answer.json()["id"])]
    assert web.get(f"/orders/{answer.json()['id']}").json() == answer.json()


def test_a_request_that_fails_leaves_neither(
    web: TestClient, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise LookupError("too late")

    monkeypatch.setattr(OrderOut, "model_validate", fail)

    with pytest.raises(LookupError, match="too late"):
        web.post("/orders", json=ORDER)

    assert connection.execute(STORED).fetchone() == (0, 0)


def test_an_order_without_lines_is_refused(web: TestClient, connection: Connection) -> None:
    assert web.post("/orders", json={**ORDER, "lines": []}).status_code == 422
    assert connection.execute(STORED).fetchone() == (0, 0)


def test_a_report_that_is_asked_for_twice_is_made_once(web: TestClient) -> None:
    first, second = (web.post("/reports/2026-11-25").json() for _ in range(2))

    assert first == second
    assert web.get("/reports/2026-11-25").status_code == 404
