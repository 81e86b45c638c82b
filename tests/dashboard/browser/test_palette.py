"""The palette, the suggestions of the search field, and saved views, by keyboard only."""

from __future__ import annotations

from playwright.async_api import Page, expect

from tests.dashboard.browser.conftest import Visit
from tests.dashboard.browser.walker import Walker
from tests.sql.engine import Engine


async def press(page: Page, *keys: str) -> None:
    for key in keys:
        await page.keyboard.press(key)


async def test_palette_opens_a_role_by_keyboard(pool: Engine, visit: Visit) -> None:
    page = await visit("/schedules")
    await press(page, "Control+k")
    field = page.get_by_role("combobox", name="Go to")
    await expect(page.get_by_role("option").first).to_have_text("Now page")

    await page.keyboard.type("r")
    await expect(page.get_by_role("option", name="letters role")).to_be_visible()
    await page.keyboard.type("oles")
    await expect(page.get_by_role("option").nth(1)).to_have_text("roles search tasks")
    await press(page, "ArrowDown")
    active = await field.get_attribute("aria-activedescendant")
    await expect(page.locator(f"#{active}")).to_have_text("roles search tasks")
    await press(page, "Escape")
    await expect(field).to_be_hidden()
    await press(page, "Control+k")
    await page.keyboard.type("letters")
    await press(page, "Enter")

    await page.wait_for_url("**/roles/letters")


async def test_question_mark_lists_the_palette(pool: Engine, visit: Visit) -> None:
    page = await visit("/roles")

    await press(page, "?")

    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Ctrl K or ⌘ K")


async def test_search_field_completes_conditions_and_values_by_keyboard(pool: Engine, visit: Visit) -> None:
    task = pool.enqueue("letters", handler="post")
    page = await visit("/tasks")
    field = page.get_by_role("combobox", name="Search", exact=True)
    await press(page, "/")
    await page.keyboard.type("ro")
    await expect(page.get_by_role("option", name="role:").first).to_be_visible()
    await press(page, "ArrowDown", "Enter")
    await expect(page.get_by_role("option", name="role:letters")).to_be_visible()
    await press(page, "ArrowDown", "Enter")
    await expect(field).to_have_value("role:letters ")
    await page.keyboard.type("st")
    await expect(page.get_by_role("option", name="state:")).to_be_visible()
    await press(page, "Escape")
    await expect(field).to_have_attribute("aria-expanded", "false")
    await expect(field).to_have_value("role:letters st")
    await press(page, "Backspace", "Backspace", "Enter")

    await page.wait_for_url("**/tasks?q=role%3Aletters*")
    await expect(page.locator(f"#task-{task}")).to_be_visible()


async def test_saved_view_is_found_in_the_list_and_in_the_palette(pool: Engine, visit: Visit) -> None:
    """Its name is shown as text, whatever it contains."""
    page = await visit("/tasks?state=failed")
    walker = Walker(page=page, pool=pool)
    await page.get_by_text("Save this view").click()
    await walker.fill("Name", "<b>Failures</b>")
    await press(page, "Enter")
    await walker.sees_message("Saved the view “<b>Failures</b>”.")
    assert walker.did() == ("views.save", "dashboard")
    await walker.go("/")

    await press(page, "Control+k")
    await page.keyboard.type("failu")
    await expect(page.get_by_role("option", name="<b>Failures</b> saved view")).to_be_visible()
    await press(page, "Enter")

    await page.wait_for_url("**/tasks?q=state%3Afailed")
    await expect(page.get_by_role("link", name="<b>Failures</b>")).to_have_attribute("aria-current", "true")


async def test_task_list_works_without_scripts(pool: Engine, visit: Visit) -> None:
    page = await visit("/tasks", scripts=False)

    await page.get_by_role("searchbox", name="Search", exact=True).fill("role:letters")
    await page.keyboard.press("Enter")

    await page.wait_for_url("**/tasks?*q=role%3Aletters*")
    await expect(page.locator("dialog")).to_have_count(2)
    await expect(page.get_by_role("combobox", name="Go to")).to_be_hidden()
