"""The page of a tree follows its progress."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import expect

from tests.dashboard.browser.conftest import Visit
from tests.sql.engine import Engine
from tests.sql.families import spread

ADD = {"role": "sums", "handler": "add"}


async def test_picture_and_progress_bars_update_with_the_tree(pool: Engine, visit: Visit, pictures: Path) -> None:
    top = pool.enqueue("sums", handler="add")
    first, _ = spread(pool, pool.claim_one(), ADD, ADD)
    page = await visit(f"/tasks/{top}/tree")
    await expect(page.get_by_role("progressbar", name="add")).to_have_attribute("value", "0.0")
    await expect(page.locator("#stream-state")).to_contain_text("live")

    pool.complete(pool.claim_one())

    await expect(page.get_by_role("progressbar", name="add")).to_have_attribute("value", "0.5")
    await expect(page.get_by_role("link", name=f"add, task {first}, completed")).to_be_visible()
    await page.screenshot(path=pictures / "tree.png")


async def test_phase_expands_in_the_picture(pool: Engine, visit: Visit) -> None:
    top = pool.enqueue("sums", handler="add")
    children = spread(pool, pool.claim_one(), *[ADD] * 40)
    page = await visit(f"/tasks/{top}/tree")

    await page.get_by_role("link", name="Unfold 40 children").click()

    await expect(page.get_by_role("link", name=f"add, task {children[0]}, ready")).to_be_visible()
    await page.get_by_role("link", name="Fold 40 children").click()
    await expect(page.get_by_role("link", name=f"add, task {children[0]}, ready")).to_have_count(0)


async def test_chain_is_deleted_after_confirmation(pool: Engine, visit: Visit) -> None:
    chain = pool.enqueue("sums", handler="add")
    page = await visit(f"/chains/{chain}")

    await page.get_by_role("button", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()

    await expect(page.get_by_role("status").filter(has_text=f"Deleted chain {chain}: 1 task.")).to_be_visible()
    assert pool.tasks() == []
