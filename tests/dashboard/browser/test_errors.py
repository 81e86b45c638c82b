"""An operator retries all tasks of one error from the overview, in three clicks."""

from __future__ import annotations

import asyncio

from playwright.async_api import expect

from tests.dashboard.browser.conftest import Visit
from tests.sql.engine import Engine


async def test_all_tasks_of_an_error_are_retried_in_three_clicks(pool: Engine, visit: Visit) -> None:
    for number in range(3):
        pool.enqueue("sums", handler="add")
        pool.fail(pool.claim_one(), f"E: order {number}", final=True)
    pool.rows("select rolecall.group_failures()")
    page = await visit("/")

    await page.locator(".figure").filter(has_text="Failed").get_by_role("link").click()
    await page.get_by_role("row").filter(has_text="E: order *").get_by_role("button", name="Retry all").click()
    dialog = page.get_by_role("dialog", name="Retry all 3 tasks that failed with this error?")
    await dialog.get_by_role("button", name="Retry 3 tasks").click()

    await expect(page.locator(".notice")).to_contain_text("It starts in 10 s.")
    async with asyncio.timeout(60):
        while not pool.rows("select from rolecall.work_off_bulk_action()"):
            await asyncio.sleep(0.1)
    assert set(pool.states().values()) == {"pending"}
