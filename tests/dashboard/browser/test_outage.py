"""Pages during a database outage or behind a failing proxy keep their content, show its age and recover."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Page, Route, expect

from tests.dashboard.browser.conftest import Visit
from tests.dashboard.browser.sites import ThreadSite
from tests.dashboard.scenery import furnish
from tests.dashboard.slowness import limit_reads, slow_down
from tests.outage import outage
from tests.sql.engine import Engine

AWAY = "The database does not respond; data from "
# In milliseconds.
PATIENCE = 11_000
TWO_HEARTBEATS = 23_000
A_NIGHT = 8 * 3_600_000


async def length(page: Page) -> int:
    """Return the length of the text in the refreshed fragments."""
    return len("".join(await page.locator("[data-live]").all_inner_texts()))


@asynccontextmanager
async def unanswered(page: Page, address: str) -> AsyncIterator[None]:
    """Leave requests open during the block. They are aborted at its end, because playwright has a task for each."""
    ended = asyncio.Event()

    async def keep(route: Route) -> None:
        await ended.wait()
        await route.abort()

    await page.route(address, keep)
    try:
        yield
    finally:
        ended.set()
        await page.unroute_all(behavior="wait")


@pytest.mark.parametrize(
    ("path", "news"),
    [
        ("/", "newcomer"),
        ("/tasks", "newcomer"),
        ("/admin/workers", "newcomer"),
        ("/tasks/{task}", "the shop has closed"),
    ],
)
async def test_page_survives_a_database_outage_and_continues_after_recovery(
    pool: Engine, visit: Visit, path: str, news: str
) -> None:
    furnish(pool)
    task = pool.enqueue("sums", handler="add", after=3_600)
    page = await visit(path.format(task=task), quiet=False)
    state, banner = page.locator("#stream-state"), page.locator("#stale")
    await expect(state).to_contain_text("live")
    before = await length(page)

    with outage(pool.database):
        await expect(banner).to_contain_text(AWAY)
        await expect(banner).to_contain_text("retrying in")
        await expect(state).to_contain_text(" old")
        # Meanwhile, several requests are answered with an error.
        await expect(banner).to_contain_text("retrying in 5 s")
        assert await length(page) > before / 2

    await expect(banner).to_have_count(0)
    await expect(state).to_contain_text("live")
    pool.declare({"name": "newcomer"})
    pool.enqueue("sums", handler="add", key="newcomer")
    pool.worker(name="newcomer")
    pool.fail_task(task, "the shop has closed")
    await expect(page.locator("[data-live]").filter(has_text=news).first).to_be_visible()


async def test_proxy_error_response_keeps_the_page_content(pool: Engine, visit: Visit) -> None:
    furnish(pool)
    page = await visit("/admin/workers", quiet=False)
    before = await length(page)

    await page.route("**/admin/workers", lambda route: route.fulfill(status=502, body="<h1>Bad Gateway</h1>"))
    await expect(page.locator("#stale")).to_contain_text("The server responded with 502; data from ")
    assert await length(page) > before / 2

    await page.unroute("**/admin/workers")
    await expect(page.locator("#stale")).to_have_count(0)


async def test_page_requested_during_an_outage_loads_automatically_after_recovery(pool: Engine, visit: Visit) -> None:
    with outage(pool.database):
        page = await visit("/tasks", quiet=False)
        await expect(page.get_by_role("heading", name="The database does not respond")).to_be_visible()

    await expect(page.get_by_role("heading", name="Tasks", exact=True)).to_be_visible()


async def test_page_shows_its_age_while_the_server_is_frozen(site: ThreadSite, visit: Visit) -> None:
    page = await visit("/tasks", quiet=False)
    state, banner = page.locator("#stream-state"), page.locator("#stale")
    await expect(state).to_contain_text("live")
    await page.clock.install()

    with site.frozen():
        await page.clock.fast_forward(TWO_HEARTBEATS)
        await expect(banner).to_contain_text("The server does not respond; data from ")
        await expect(state).to_contain_text(" old")

    await expect(banner).to_have_count(0)
    await expect(state).to_contain_text("live")


async def test_fragment_without_a_response_is_given_up(pool: Engine, visit: Visit) -> None:
    page = await visit("/tasks", quiet=False)
    await expect(page.locator("#stream-state")).to_contain_text("live")
    await page.clock.install()

    async with unanswered(page, "**/tasks"):
        async with page.expect_request("**/tasks"):
            pool.enqueue("sums", handler="add")
        await page.clock.fast_forward(PATIENCE)

        await expect(page.locator("#stale")).to_contain_text("The server cannot be reached; data from ")


async def test_stream_is_opened_again_after_the_computer_slept(visit: Visit) -> None:
    page = await visit("/tasks", quiet=False)
    await expect(page.locator("#stream-state")).to_contain_text("live")
    await page.clock.install()

    async with page.expect_request("**/api/live*"):
        await page.clock.fast_forward(A_NIGHT)

    await expect(page.locator("#stream-state")).to_contain_text("live")


async def test_late_part_keeps_its_content_while_the_rest_is_refreshed(
    pool: Engine, monkeypatch: pytest.MonkeyPatch, visit: Visit
) -> None:
    limit_reads(monkeypatch)
    pool.enqueue("sums", handler="add")
    page = await visit("/tasks", quiet=False)
    counts = page.get_by_role("navigation", name="States")
    await expect(counts).to_contain_text("Pending 1")

    slow_down(pool.database, "counts")
    task = pool.enqueue("sums", handler="add")

    await expect(page.locator(f"#task-{task}")).to_be_visible()
    await expect(counts).to_contain_text("Pending 1")
    await expect(page.locator("#part-counts")).to_contain_text("This count took longer than 2 s. Data from ")
    await expect(page.locator("#stale")).to_have_count(0)
