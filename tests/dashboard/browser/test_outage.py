"""Pages during a database outage or behind a failing proxy keep their content, show its age and recover."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.dashboard.browser.conftest import Visit
from tests.dashboard.scenery import furnish
from tests.outage import outage
from tests.sql.engine import Engine

AWAY = "The database does not respond; data from "


async def length(page: Page) -> int:
    """Return the length of the text in the refreshed fragments."""
    return len("".join(await page.locator("[data-live]").all_inner_texts()))


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

    await expect(page.get_by_role("heading", name="Task queue")).to_be_visible()
