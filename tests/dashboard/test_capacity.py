"""Capacity pages: all roles, one role, and a forecast for other numbers of workers."""

from __future__ import annotations

import httpx2
import pytest

from tests.sql.engine import Engine


@pytest.fixture
def measured(pool: Engine) -> Engine:
    """A worker has finished ten tasks in 72 s each; 100 are pending."""
    pool.clock.set(pool.value("select now()"))
    pool.enqueue_many([{"role": "sums", "handler": "add"}] * 110)
    worker = pool.worker()
    for _ in range(10):
        claim = pool.claim_one(worker=worker)
        pool.clock.advance(seconds=72)
        pool.complete(claim)
    pool.rows("select from rolecall.beat(%s, 0, false)", worker)
    return pool


async def test_page_lists_all_roles(measured: Engine, http: httpx2.AsyncClient) -> None:
    assert measured.value("select 1") == 1
    page = await http.get("/capacity")

    assert "/capacity?role=sums" in page.text
    # Nine of them ended within the last ten minutes, in which the worker always had due tasks.
    assert "54/h" in page.text


@pytest.mark.usefixtures("measured")
async def test_role_shows_how_many_workers_it_needs(http: httpx2.AsyncClient) -> None:
    page = await http.get("/capacity?role=sums")

    assert "With 1 worker" in page.text
    assert "the queue never empties" in page.text
    assert "<dt>Workers for 1 h</dt><dd>2</dd>" in page.text


@pytest.mark.usefixtures("measured")
async def test_number_of_workers_in_the_url_changes_the_forecast(http: httpx2.AsyncClient) -> None:
    page = await http.get("/capacity?role=sums&workers=4")

    assert "With 4 workers" in page.text
    assert "instead of 1" in page.text
    assert "the 100 pending tasks are processed in" in page.text


async def test_missing_measurements_are_named(pool: Engine, http: httpx2.AsyncClient) -> None:
    pool.enqueue("sums", handler="add")
    pool.worker()

    page = await http.get("/capacity?role=sums")

    assert "run times were not measured" in page.text


async def test_unknown_role_is_not_found(pool: Engine, http: httpx2.AsyncClient) -> None:
    assert pool.value("select 1") == 1
    assert (await http.get("/capacity?role=none")).status_code == 404
