"""The sample shop, in an environment with our wheel: its types, its tests, and its programs behind a real PgBouncer."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx2
import psycopg
import pytest

from rolecall.testing import TestServer, url_of
from tests.cli.processes import until
from tests.examples.conftest import Make
from tests.examples.projects import Program, Project
from tests.servers import Bouncer

ORDER = {
    "customer_id": 7,
    "email": "ada@example.org",
    "lines": [{"article": "tea", "quantity": 2, "price": "4.50"}],
}
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
WEB = ("uvicorn", "--factory", "shop.web:make", "--port", "0")
WORKER = ("rolecall", "worker", "--app", "shop.worker:app")


@pytest.fixture(scope="session")
def shop(make: Make) -> Project:
    return make("shop", "-e", "./[dev]")


def test_mypy_reports_nothing(shop: Project) -> None:
    assert "no issues found" in shop.run("mypy")


def test_pyright_reports_nothing(shop: Project) -> None:
    assert "0 errors, 0 warnings" in shop.run("pyright", "--pythonpath", str(shop.environment.programs / "python"))


def test_own_tests_of_the_example_pass(shop: Project, postgres_server: TestServer) -> None:
    result = shop.run("pytest", "-q", ROLECALL_TEST_SERVER=postgres_server.dsn("postgres"))

    assert re.search(r"^\d+ passed", result, re.MULTILINE), result


def test_order_is_billed_by_a_separate_worker(shop: Project, pgbouncer: Bouncer, database: str) -> None:
    through = url_of(pgbouncer.through(database))
    shop.run("rolecall", "migrate", "--app", "shop.worker:app", DATABASE_URL=through)

    with (
        shop.running(*WORKER, DATABASE_URL=through, ROLECALL_LISTEN_URL=database) as worker,
        shop.running(*WEB, DATABASE_URL=through) as web,
    ):
        order_is_confirmed(web)
        billed = json.loads(worker.wait_for_line('"event": "billed"'))

    assert billed.items() >= {"handler": "bill_order", "key": "customer:7", "attempt": 1, "invoice": 1}.items()
    assert [program.process.returncode for program in (worker, web)] == [0, -15]


def test_order_is_billed_by_workers_inside_two_web_processes(
    shop: Project, pgbouncer: Bouncer, database: str, connection: psycopg.Connection[Any]
) -> None:
    through = url_of(pgbouncer.through(database))
    shop.run("rolecall", "migrate", "--app", "shop.worker:app", DATABASE_URL=through)

    with shop.running(*WEB, "--workers", "2", DATABASE_URL=through, SHOP_WORKER_INSIDE="yes") as web:
        order_is_confirmed(web)
        at_work = "select count(*) from rolecall.workers"
        until(lambda: connection.execute(at_work).fetchone() == (2,), "a worker in each process")
        web.wait_for_line('"event": "billed"')

    # Each worker has stopped on request and is no longer registered.
    assert connection.execute("select count(*) from rolecall.workers where stopped_at is null").fetchone() == (0,)


def order_is_confirmed(web: Program) -> None:
    """Place an order, and wait until its confirmation is sent."""
    [address] = ADDRESS.findall(web.wait_for_line("Uvicorn running on"))
    web.wait_for_line("Application startup complete")
    with httpx2.Client(base_url=address, timeout=30) as client:
        placed = client.post("/orders", json=ORDER)
        assert placed.status_code == 201, placed.text
        order = f"/orders/{placed.json()['id']}"
        until(lambda: bool(client.get(order).json()["status"] == "confirmed"), "the order is confirmed")
