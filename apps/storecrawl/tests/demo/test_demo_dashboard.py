"""A cycle of the demo, followed in the browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.async_api import expect

from tests.dashboard.browser.conftest import Visit, browser, visit
from tests.dashboard.browser.sites import Site

from .conftest import DemoFolder
from .test_demo_api import ADDRESS

__all__ = ["browser", "visit"]

SOON = 60_000


@pytest.fixture
def site(demo: DemoFolder) -> Iterator[Site]:
    process = demo.start("--stores", "2", "--step-seconds", "5", "--processes", "1")
    assert process.stdout is not None
    yield Site("".join(next(found.group(1, 2) for line in process.stdout if (found := ADDRESS.search(line)))))
    process.terminate()
    assert demo.end().code == 0


@pytest.mark.asyncio(loop_scope="session")
async def test_cycle_can_be_followed_in_the_browser_without_reloading(visit: Visit, site: Site) -> None:
    page = await visit(site.address)
    await expect(page.get_by_role("heading", level=1)).to_have_text("Now")

    await page.get_by_role("link", name="Stores", exact=True).click()
    store = page.locator("tr[id^=store-]").first
    await expect(store.get_by_role("cell").nth(2)).not_to_have_text("0", timeout=SOON)
    await store.get_by_role("link").first.click()
    await expect(page.locator("[id^=task-]").first).to_be_visible(timeout=SOON)

    await page.get_by_role("link", name="All of this store").click()
    await expect(page.get_by_role("link", name="payload_fetch").first).to_be_visible(timeout=SOON)
    await page.go_back()

    await expect(page.locator("[id^=payload-]").nth(1)).to_be_visible(timeout=SOON)
    await page.get_by_role("link", name="Latest changes").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Changes")
    await expect(page.get_by_role("navigation", name="Kinds of changes").get_by_role("link")).to_have_count(4)
