"""The craft of the pages: their width and length, the keyboard, and rows that hold still."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

from playwright.async_api import Page, expect

from tests.dashboard.browser.conftest import Visit
from tests.dashboard.crowd import LONG_ERROR, declare_roles, fail_at_length, join_workers
from tests.sql.engine import Engine

WIDTHS = (1440, 390)
WIDTH = "document.scrollingElement.scrollWidth"
LENGTH = "document.scrollingElement.scrollHeight"
TAB_STOPS = """[...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")]
    .filter(each => !each.disabled && each.type !== "hidden" && each.checkVisibility({ visibilityProperty: true })).length"""


async def every_width(page: Page, pictures: Path) -> AsyncIterator[int]:
    """Resize an open page to each width, and take a picture there."""
    name = re.sub(r"\W+", "-", page.url.partition("//")[2].partition("/")[2]) or "overview"
    for width in WIDTHS:
        await page.set_viewport_size({"width": width, "height": 900})
        await page.screenshot(path=pictures / f"crowd-{name}-{width}.png", full_page=True)
        yield width


async def test_long_error_does_not_widen_any_page(pool: Engine, visit: Visit, pictures: Path) -> None:
    seen = fail_at_length(pool)
    page = await visit("/login")
    paths = [
        "/",
        "/tasks?state=failed",
        f"/tasks/{seen.failed_id}",
        f"/tasks/{seen.parent_id}",
        f"/tasks/{seen.parent_id}/tree",
        "/chains",
        f"/chains/{seen.chain_id}",
        "/schedules",
        f"/schedules/{seen.schedule_id}",
        f"/admin/workers/{seen.worker_id}",
    ]
    widths: dict[tuple[str, int], int] = {}
    shown: set[str] = set()
    for path in paths:
        await page.goto(path)
        widths |= {(path, width): await page.evaluate(WIDTH) async for width in every_width(page, pictures)}
        shown |= {path} if LONG_ERROR[:100] in (await page.content()) else set()

    assert {(path, width): wide for (path, width), wide in widths.items() if wide > width} == {}
    assert len(shown) >= 7


async def test_no_page_is_longer_than_5000_pixels_with_500_roles(pool: Engine, visit: Visit, pictures: Path) -> None:
    declare_roles(pool, 500)
    join_workers(pool, 60)
    page = await visit("/login")
    lengths: dict[tuple[str, int], int] = {}
    for path in ("/", "/tasks", "/chains", "/jobs", "/schedules", "/admin/workers", "/roles", "/capacity", "/changes"):
        await page.goto(path)
        lengths |= {(path, width): await page.evaluate(LENGTH) async for width in every_width(page, pictures)}

    assert {place: long for place, long in lengths.items() if long > 5_000} == {}


async def test_overview_of_204_roles_has_fewer_than_150_tab_stops(pool: Engine, visit: Visit) -> None:
    declare_roles(pool, 204)

    page = await visit("/")

    assert await page.evaluate(TAB_STOPS) < 150


async def test_question_mark_shows_the_keyboard_shortcuts(pool: Engine, visit: Visit) -> None:
    page = await visit("/tasks")

    await page.keyboard.press("?")

    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()


async def test_j_and_k_move_between_rows_and_enter_opens_one(pool: Engine, visit: Visit) -> None:
    first = pool.enqueue("sums", handler="add")
    pool.enqueue("sums", handler="add")
    page = await visit("/tasks")

    for key in ("j", "j", "k", "j"):
        await page.keyboard.press(key)
    await page.keyboard.press("Enter")

    await page.wait_for_url(f"**/tasks/{first}")


async def test_rows_under_the_pointer_hold_still_until_it_leaves(pool: Engine, visit: Visit) -> None:
    page = await visit("/")
    row = page.locator("#role-sums")
    ready = page.locator(".figure", has_text="can run now").locator("dd").first
    await row.hover()

    # Both parts are refreshed at the same pace: at the second refresh of one, the other had its turn.
    for number in (1, 2):
        pool.enqueue("sums", handler="add")
        await expect(ready).to_have_text(str(number))
    assert await row.locator("td[data-label=Ready]").text_content() == "0"
    await page.mouse.move(0, 0)

    await expect(row.locator("td[data-label=Ready]")).to_have_text("2")


async def test_main_facts_of_a_task_are_within_600_pixels(pool: Engine, visit: Visit) -> None:
    task = pool.enqueue("sums", handler="add", key="shop:58", max_attempts=5)
    pool.fail(pool.claim_one(), "ConnectionError: the line is dead")
    page = await visit(f"/tasks/{task}")

    for fact in ("retrying", "shop:58", "1 of 5", "Due", "the line is dead"):
        box = await page.locator("#main").get_by_text(fact).first.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < 600
