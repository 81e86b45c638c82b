"""Pages follow changes."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import expect

from tests.dashboard.browser.conftest import Visit
from tests.sql.engine import Engine


async def test_new_task_appears_without_a_reload(pool: Engine, visit: Visit, pictures: Path) -> None:
    page = await visit("/")
    row = page.get_by_role("row", name="sums")
    await expect(row).to_contain_text("0")
    await expect(page.locator("#stream-state")).to_contain_text("live")

    pool.enqueue_many([{"role": "sums", "handler": "add"}] * 7)

    await expect(row.get_by_role("link", name="7", exact=True)).to_be_visible()
    await page.screenshot(path=pictures / "overview.png")


async def test_skipped_view_transition_is_no_error(pool: Engine, visit: Visit) -> None:
    page = await visit("/", moves=True)
    await page.add_init_script("addEventListener('pagereveal', (event) => event.viewTransition.skipTransition())")

    await page.get_by_role("link", name="Tasks", exact=True).click()

    await page.wait_for_url("**/tasks")
    await expect(page.locator("#stream-state")).to_contain_text("live")


async def test_superseded_click_is_no_error(pool: Engine, visit: Visit) -> None:
    page = await visit("/", moves=True)
    await page.evaluate(
        "addEventListener('pageswap', () => setTimeout(() => location.assign('/jobs')), { once: true })"
    )

    await page.get_by_role("link", name="Tasks", exact=True).click()

    await page.wait_for_url("**/jobs")
    await expect(page.locator("#stream-state")).to_contain_text("live")
