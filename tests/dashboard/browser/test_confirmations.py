"""Destructive actions require confirmation, with scripts and without."""

from __future__ import annotations

from playwright.async_api import expect

from tests.dashboard.browser.conftest import Visit
from tests.sql.engine import Engine


async def test_confirmation_without_scripts_is_a_page(pool: Engine, visit: Visit) -> None:
    task = pool.enqueue("sums", handler="add")
    page = await visit(f"/tasks/{task}", scripts=False)

    await page.get_by_role("button", name="Delete").click()
    await expect(page.get_by_role("heading", name=f"Delete task {task} permanently?")).to_be_visible()
    assert pool.state(task) == "pending"
    await page.get_by_role("link", name="Back").click()
    await page.get_by_role("button", name="Delete").click()
    await page.get_by_role("button", name="Delete").click()

    await expect(page.get_by_role("status").filter(has_text=f"Task {task} is deleted.")).to_be_visible()
    assert pool.tasks() == []


async def test_confirmation_is_a_page_while_scripts_are_still_loading(pool: Engine, visit: Visit) -> None:
    task = pool.enqueue("sums", handler="add")
    page = await visit("/tasks", quiet=False)
    await page.route("**/rolecall.js", lambda route: route.abort())
    await page.goto(f"/tasks/{task}")

    await page.get_by_role("button", name="Delete").click()

    await expect(page.get_by_role("heading", name=f"Delete task {task} permanently?")).to_be_visible()
    assert pool.state(task) == "pending"


async def test_dialog_and_server_ask_the_same_question(pool: Engine, visit: Visit) -> None:
    pool.enqueue("sums", handler="add")
    parent = pool.claim_one()
    pool.spawn(parent.id, *[{"role": "sums", "handler": "add"}] * 7)
    page = await visit(f"/tasks/{parent.id}")

    await page.get_by_role("button", name="Cancel").click()

    dialog = page.get_by_role(
        "dialog", name=f"Cancel task {parent.id}, with 7 open children and everything open below?"
    )
    await dialog.get_by_role("button", name="Cancel").click()
    await expect(page.locator(".notice")).to_contain_text("is requested")
