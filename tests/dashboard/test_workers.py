"""The page of the workers: liveness, current tasks and commands."""

from __future__ import annotations

import re

import httpx2
import pytest

from tests.dashboard.crews import join
from tests.dashboard.reading import send
from tests.sql.engine import Engine


async def test_each_worker_is_shown_with_its_current_tasks(pool: Engine, http: httpx2.AsyncClient) -> None:
    task = pool.enqueue("sums", handler="add", key="store:7")
    worker = join(pool, "north", "sums", running=1, cpu=0.5, memory=0.25, memory_bytes=300_000_000)

    page = (await http.get("/admin/workers")).text

    assert f'href="/admin/workers/{worker}">north<' in page
    assert f'href="/tasks/{task}">add {task}<' in page
    assert "store:7" in page
    assert "slots: 1 of 4" in page
    assert '<small>host-1</small><small class="minor">process 4711 · 0.9.1</small>' in page
    assert "50 %" in page
    assert "300 MB" in page


async def test_running_tasks_beyond_the_first_few_are_shown_as_a_count(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.enqueue_many([{"role": "sums", "handler": "add"}] * 9)
    worker = join(pool, "north", "sums", slots=10, running=9)

    page = (await http.get("/admin/workers")).text

    assert page.count('class="doing"') == 3
    assert f'href="/admin/workers/{worker}">6 more<' in page


async def test_back_off_reason_is_shown(pool: Engine, http: httpx2.AsyncClient) -> None:
    join(pool, "north", backing_off="memory 0.93 is above 0.85", memory=0.93)

    page = (await http.get("/admin/workers")).text

    assert 'data-state="backing off"' in page
    assert "memory 0.93 is above 0.85" in page


async def test_clock_skew_is_shown(pool: Engine, http: httpx2.AsyncClient) -> None:
    now: float = pool.value("select extract(epoch from rolecall.clock())::float8")
    join(pool, "north", clock=now + 900)

    assert re.search(r"its clock is (8[5-9]\d|900)\.\d s ahead", (await http.get("/admin/workers")).text)


async def test_silent_workers_are_shown_only_on_request(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.rows("select rolecall.deregister_worker(%s)", join(pool, "gone"))

    alive, everyone = (await http.get("/admin/workers")).text, (await http.get("/admin/workers?everyone=1")).text

    assert "gone" not in alive
    assert "No worker is alive" in alive
    assert ">gone<" in everyone
    assert 'data-state="stopped"' in everyone


@pytest.mark.parametrize(("order", "command"), [("drain", "drain"), ("decommission", "decommission"), ("resume", None)])
async def test_button_sends_a_command_to_the_worker(
    pool: Engine, http: httpx2.AsyncClient, order: str, command: str | None
) -> None:
    worker = join(pool, "north")
    pool.rows("select rolecall.command_worker(%s, 'drain')", worker)

    answer = await send(http, f"/admin/workers/{worker}/{order}", at="/admin/workers")

    assert (answer.status_code, answer.headers["location"]) == (303, "/admin/workers")
    assert pool.value("select command from rolecall.workers where id = %s", worker) == command
    assert "north" in (await http.get("/admin/workers")).text


async def test_many_workers_are_grouped_by_their_roles(pool: Engine, http: httpx2.AsyncClient) -> None:
    for number in range(52):
        join(pool, f"worker-{number:02}", "sums" if number % 2 else "letters")

    page = (await http.get("/admin/workers")).text
    letters = (await http.get("/admin/workers?roles=letters")).text

    assert 'href="/admin/workers?roles=letters"' in page
    assert page.count('<tr id="worker-') == 25
    assert "/admin/workers?page=2" in page
    assert letters.count('<tr id="worker-') == 25
    assert "1 to 25 of 26" in letters


async def test_workers_are_sorted_in_natural_order(pool: Engine, http: httpx2.AsyncClient) -> None:
    for number in (10, 9, 100, 1):
        join(pool, f"worker-{number}")

    page = (await http.get("/admin/workers")).text

    assert re.findall(r">worker-(\d+)</a>", page) == ["1", "9", "10", "100"]


async def test_workers_can_be_filtered_by_state(pool: Engine, http: httpx2.AsyncClient) -> None:
    join(pool, "north", backing_off="memory")
    join(pool, "south")

    page = (await http.get("/admin/workers", params={"state": "backing off"})).text

    assert ">north<" in page
    assert ">south<" not in page


async def test_single_worker_has_its_own_page(pool: Engine, http: httpx2.AsyncClient) -> None:
    done, running = pool.enqueue("sums", handler="add"), pool.enqueue("sums", handler="stumble")
    worker = join(pool, "north", "sums", pod="crawler-0")
    [first] = pool.claim(1, "sums", worker=worker)
    pool.start(first)
    pool.complete(first)
    pool.start(*pool.claim(1, "sums", worker=worker))

    page = (await http.get(f"/admin/workers/{worker}")).text

    assert "<h1>north</h1>" in page
    assert "crawler-0" in page
    assert f'<th scope="row"><a href="/tasks/{running}">' in page.partition('id="lately"')[0]
    assert f'<th scope="row"><a href="/tasks/{done}">' in page.partition('id="lately"')[2]


async def test_unknown_worker_is_not_found(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/admin/workers/77")

    assert answer.status_code == 404
    assert "there is no worker 77" in answer.text


async def test_refreshed_fragment_makes_no_cluster_request(pool: Engine, http: httpx2.AsyncClient) -> None:
    join(pool, "north")

    page = (await http.get("/admin/workers", headers={"hx-target": "section#workers"})).text

    assert ">north<" in page
    assert "cannot be changed here" not in page
