"""A bulk action from the first page to its end, within four clicks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from threading import Event, Thread
from time import monotonic

import psycopg
import pytest
from playwright.async_api import expect

from tests.dashboard.browser.conftest import Visit
from tests.sql.engine import Engine

TASKS = 100_000
ENQUEUE = (
    "select rolecall.enqueue_many(jsonb_agg(jsonb_build_object('role', 'sums', 'handler', 'add')))"
    " from generate_series(1, 10000)"
)


@pytest.fixture
def longest(database: str) -> Iterator[list[float]]:
    """Work off bulk actions as a maintainer does, and measure the longest transaction."""
    seconds: list[float] = [0.0]
    ended = Event()

    def work() -> None:
        with psycopg.connect(database, autocommit=True) as connection:
            while not ended.is_set():
                began = monotonic()
                if connection.execute("select rolecall.work_off_bulk_action()").fetchone() is None:
                    ended.wait(0.05)
                else:
                    seconds[0] = max(seconds[0], monotonic() - began)

    thread = Thread(target=work)
    thread.start()
    yield seconds
    ended.set()
    thread.join()


async def test_100_000_tasks_are_cancelled_with_four_clicks_and_live_progress(
    pool: Engine, visit: Visit, longest: list[float]
) -> None:
    for _ in range(TASKS // 10_000):
        pool.rows(ENQUEUE)
    page = await visit("/")
    await page.get_by_role("link", name="Tasks", exact=True).first.click()
    await page.get_by_role("link", name="Pending").first.click()
    await page.get_by_role("link", name="Cancel all").click()
    await page.get_by_role("button", name="Cancel 100,000 tasks").click()

    await expect(page.get_by_text("Until then it can be withdrawn, and no task is changed.")).to_be_visible()
    await expect(page.get_by_text("of 100,000 tasks")).to_be_visible()
    await expect(page.locator(".heading .state")).to_have_text("completed", timeout=240_000)
    await expect(page.get_by_text("100,000 of 100,000 tasks.")).to_be_visible()
    assert await asyncio.to_thread(pool.value, "select count(*) from rolecall.tasks") == 0
    assert longest[0] < 10
