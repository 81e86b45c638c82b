"""The start page: alerts, figures, plots and roles."""

from __future__ import annotations

import asyncio

import httpx2
import pytest

from rolecall import App, Finding, Severity
from tests.dashboard.reading import shown
from tests.sql.engine import Engine
from tests.web.doors import unguarded


def enqueue_late(pool: Engine, number: int) -> None:
    """Store tasks that have waited for a minute."""
    pool.enqueue_many([{"role": "sums", "handler": "add"}] * number)
    pool.rows("update rolecall.tasks set created_at = created_at - interval '1 min'")
    pool.rows("update rolecall.tasks set scheduled_for = created_at")


async def test_first_page_shows_every_role(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.enqueue("sums", handler="add")

    page = await http.get("/")

    assert page.status_code == 200
    assert "/tasks?role=sums" in page.text
    assert "/capacity?role=letters" in page.text


async def test_healthy_pool_shows_no_links_to_problems(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.worker()
    pool.enqueue("sums", handler="add")

    problems = (await shown(http, "/")).one("div", id="part-problems")

    # Findings about the test server, which has fsync off, have no links. Whether they are known yet depends on time.
    assert problems.all("a") == []


async def test_due_tasks_without_a_worker_are_reported_first(pool: Engine, http: httpx2.AsyncClient) -> None:
    enqueue_late(pool, 2)

    page = await http.get("/")

    assert page.text.index("No worker is running; 2 tasks wait in role sums.") < page.text.index("figures-row")
    assert "/tasks?state=ready&amp;role=sums" in page.text
    assert "/admin/workers" in page.text


async def test_paused_role_is_reported_with_its_pending_tasks(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.rows("select rolecall.pause_role('sums', null, 'ada')")
    enqueue_late(pool, 3)

    page = await http.get("/")

    assert "Role sums is paused by ada; 3 tasks wait." in page.text


async def test_silent_worker_is_reported(pool: Engine, http: httpx2.AsyncClient) -> None:
    worker = pool.worker(name="crawler-7")
    pool.rows("update rolecall.workers set heartbeat_at = heartbeat_at - interval '70 s' where id = %s", worker)

    page = await http.get("/")

    assert "Worker crawler-7 has sent no heartbeat for a minute." in page.text
    assert f"/admin/workers?ids={worker}" in page.text


@pytest.mark.parametrize("minutes", [10, 60, 360, 1_440, 10_080])
async def test_each_time_span_has_its_own_url(pool: Engine, http: httpx2.AsyncClient, minutes: int) -> None:
    pool.rows("select rolecall.roll_up_history('0 s')")

    page = await http.get(f"/?minutes={minutes}")

    assert page.status_code == 200
    assert page.text.count("<line-chart") == 5


async def test_unsupported_time_span_is_rejected(pool: Engine, http: httpx2.AsyncClient) -> None:
    assert pool.value("select 1") == 1
    assert (await http.get("/?minutes=17")).status_code == 422


async def test_finished_tasks_are_plotted(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.rows(
        "update rolecall.history_until set began = at, moment = at"
        " from rolecall.begin_of_bin(60, now() - interval '90 s') as at"
    )
    pool.enqueue("sums", handler="add")
    pool.complete(pool.claim_one())
    pool.rows("update rolecall.finished_tasks set finished_at = finished_at - interval '30 s'")
    # A call ends at a full hour of the clock; another one continues.
    while pool.value("select rolecall.roll_up_history('0 s')"):
        pass

    result = (await http.get("/api/tasks/history?role=sums&minutes=15")).json()
    page = await http.get("/")

    assert [point["completed"] for point in result["points"]].count(1) == 1
    assert "0.03333" in page.text  # one task in a bin of 30 s


async def test_history_of_an_unknown_role_is_not_found(pool: Engine, http: httpx2.AsyncClient) -> None:
    assert pool.value("select 1") == 1
    assert (await http.get("/api/tasks/history?role=none")).status_code == 404


async def test_findings_of_an_app_check_come_first(pool: Engine) -> None:
    async def till(_: object) -> list[Finding]:
        return [Finding(severity=Severity.TROUBLE, problem="the till is open", advice="close it", path="/till")]

    application = unguarded(pool.database, App("kiosk", checks=[till]))
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app=application), base_url="http://test") as http,
        asyncio.timeout(40),
    ):
        while "The till is open." not in (page := await http.get("/")).text:
            await asyncio.sleep(0.05)

    assert page.text.index("The till is open.") < page.text.index("figures-row")
    assert 'href="/till"' in page.text
