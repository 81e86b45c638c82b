"""Scripts on the task list and on a task's page."""

from __future__ import annotations

from playwright.async_api import expect

from tests.dashboard.browser.conftest import Visit
from tests.dashboard.scenery import TRACEBACK
from tests.sql.engine import Engine


async def test_selection_survives_new_tasks_and_needs_confirmation(pool: Engine, visit: Visit) -> None:
    first, second, third = pool.enqueue_many([{"role": "sums", "handler": "add"}] * 3)[0]
    page = await visit("/tasks")
    await expect(page.locator("#stream-state")).to_contain_text("live")
    await page.get_by_role("checkbox", name=f"Select task {first}").check()
    await page.get_by_role("checkbox", name=f"Select task {third}").check()
    fresh = pool.enqueue("letters", handler="post")

    await page.get_by_role("button", name="Cancel").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("Cancel 2 tasks, including everything open below?")
    await dialog.get_by_role("button", name="Back").click()
    assert pool.state(first) == "pending"
    await expect(page.get_by_role("checkbox", name=f"Select task {first}")).to_be_checked()

    await page.get_by_role("button", name="Cancel").click()
    await dialog.get_by_role("button", name="Cancel").click()
    await expect(page.get_by_role("status").filter(has_text="2 cancelled")).to_be_visible()
    assert pool.states() == {first: "cancelled", second: "pending", third: "cancelled", fresh: "pending"}


async def test_list_resumes_live_updates_once_nothing_is_selected(pool: Engine, visit: Visit) -> None:
    task = pool.enqueue("sums", handler="add")
    page = await visit("/tasks")
    await expect(page.locator("#stream-state")).to_contain_text("live")
    everything = page.get_by_role("checkbox", name="Select all on this page")
    await everything.check()
    await expect(page.locator(".tools.selected")).to_contain_text("1 selected")

    pool.cancel(task)
    await everything.uncheck()

    await expect(page.locator(f"#task-{task} .state")).to_have_text("cancelled")
    await expect(page.locator(".tools.selected")).to_be_hidden()


async def test_search_url_contains_only_the_used_filters(pool: Engine, visit: Visit) -> None:
    """Times are in the viewer's time zone, five hours behind in these tests."""
    pool.enqueue("sums", handler="add")
    page = await visit("/tasks")
    await page.keyboard.press("/")
    await page.keyboard.type("add")
    # Leaving the field closes its suggestions.
    await page.keyboard.press("Tab")
    await page.get_by_text("More filters").click()
    await page.get_by_role("textbox", name="Created from").fill("2026-01-31T12:00:30")
    await page.keyboard.press("Enter")

    await page.wait_for_url("**/tasks?q=add&created_from=2026-01-31T17%3A00%3A30.000Z")
    await expect(page.get_by_role("textbox", name="Created from")).to_have_value("2026-01-31T12:00:30")


async def test_task_page_updates_live_and_keeps_opened_sections_open(pool: Engine, visit: Visit) -> None:
    task = pool.enqueue("sums", handler="add", max_attempts=3, payload={"rows": 12})
    pool.fail(pool.claim_one(), TRACEBACK, after=0)
    page = await visit(f"/tasks/{task}")
    await expect(page.locator("#stream-state")).to_contain_text("live")
    await page.get_by_text("shop.mailer.Refused").first.click()
    await page.get_by_text("Payload, 12 B").click()

    claim = pool.claim_one()
    pool.start(claim)
    pool.report_info(claim, {"done": 7})

    await expect(page.locator(".heading .state")).to_have_text("running")
    await expect(page.get_by_text("await mailer.send(letter)")).to_be_visible()
    await expect(page.locator("json-text").first).to_be_hidden()
    await expect(page.locator("json-text .name", has_text="done")).to_be_visible()
    pool.report_info(claim, {"done": 8})
    pool.complete(claim, result={"sum": 3})
    await expect(page.locator(".heading .state")).to_have_text("completed")
    await expect(page.locator("json-text .value", has_text="8")).to_be_visible()
