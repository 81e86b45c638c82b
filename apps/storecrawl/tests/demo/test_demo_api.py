"""The demo's dashboard and API: a separate process that serves the announced address as long as the demo runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from playwright.async_api import expect

from tests.dashboard.browser.conftest import Visit, browser, visit
from tests.dashboard.browser.sites import Site

from .conftest import DemoFolder, eventually

__all__ = ["browser", "visit"]

ADDRESS = re.compile(r"dashboard: (http://127\.0\.0\.1:\d+)(/enter\?token=(rl_\S+))")
SOON = 60_000


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[DemoFolder, re.Match[str]]]:
    """A running demo of two stores, and the address that it printed."""
    demo = DemoFolder(tmp_path_factory.mktemp("demo"))
    try:
        process = demo.start("--stores", "2", "--step-seconds", "5", "--processes", "1", "--platforms", "dutchie")
        assert process.stdout is not None
        yield demo, next(found for line in process.stdout if (found := ADDRESS.search(line)))
        process.terminate()
        assert demo.end().code == 0
        demo.expect_nothing_left()
    finally:
        demo.clear()


@pytest.fixture
def site(running: tuple[DemoFolder, re.Match[str]]) -> Site:
    return Site("".join(running[1].group(1, 2)))


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


def test_api_responds_at_the_printed_address_and_restarts_after_a_kill(
    running: tuple[DemoFolder, re.Match[str]],
) -> None:
    demo, found = running
    assert (demo.data / "local-token").read_text().strip() == found[3]

    with httpx2.Client(base_url=found[1], headers={"authorization": f"Bearer {found[3]}"}, timeout=60) as api:
        eventually(lambda: len(_items(api, "/api/payloads")) >= 2)
        demo.kill("api")
        store = eventually(lambda: _items(api, "/api/stores"))[0]["id"]
        query = api.get(f"/api/payloads/store/{store}/query?limit=1").json()
    assert query["total"] >= len(query["items"]) == 1


def _items(api: httpx2.Client, path: str) -> list[dict[str, Any]]:
    try:
        answer = api.get(path)
    except httpx2.TransportError:
        return []
    return list(answer.json()["items"]) if answer.status_code == httpx2.codes.OK else []
