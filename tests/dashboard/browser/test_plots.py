"""Plots in a real browser: a dragged span lists its tasks."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.async_api import Page, expect

from tests.dashboard.browser.conftest import Visit
from tests.dashboard.test_plots import finish_tasks
from tests.sql.engine import Engine


async def drag(page: Page, plot: str, begin: float, end: float) -> None:
    """Drag across a plot, between two shares of its width."""
    box = await page.locator(f"#{plot} .u-over").bounding_box()
    assert box is not None
    height = box["y"] + box["height"] / 2
    await page.mouse.move(box["x"] + begin * box["width"], height)
    await page.mouse.down()
    await page.mouse.move(box["x"] + end * box["width"], height, steps=5)
    await page.mouse.up()


async def test_span_dragged_across_a_plot_lists_the_tasks_that_it_shows(
    pool: Engine, visit: Visit, pictures: Path
) -> None:
    finish_tasks(pool)
    page = await visit("/")
    await page.locator("#chart-failures").scroll_into_view_if_needed()
    await page.screenshot(path=pictures / "plots.png", full_page=True)

    await drag(page, "chart-failures", 0.5, 0.999)

    await expect(page).to_have_url(re.compile(r"/tasks\?state=failed&finished_from=.*Z&finished_to=.*Z$"))
    await expect(page.locator("#main")).to_contain_text("finished from")
    await expect(page.get_by_role("row").filter(has_text="add")).to_have_count(1)


async def test_span_without_finished_tasks_lists_none(pool: Engine, visit: Visit) -> None:
    finish_tasks(pool)
    page = await visit("/roles/sums")

    await drag(page, "chart-speed", 0.1, 0.5)

    await expect(page).to_have_url(re.compile(r"/tasks\?role=sums&state=completed&finished_from="))
    await expect(page.get_by_role("row").filter(has_text="add")).to_have_count(0)


async def test_click_on_a_plot_leads_nowhere(pool: Engine, visit: Visit) -> None:
    finish_tasks(pool)
    page = await visit("/roles/sums")
    address = page.url

    await drag(page, "chart-speed", 0.5, 0.5)
    await drag(page, "chart-backlog", 0.2, 0.8)

    assert page.url == address


async def test_tooltip_shows_the_marks_near_the_pointer(pool: Engine, visit: Visit) -> None:
    finish_tasks(pool)
    page = await visit("/roles/sums")
    box = await page.locator("#chart-speed .u-over").bounding_box()
    assert box is not None

    # The workers of this test have just started.
    await page.mouse.move(box["x"] + box["width"] - 2, box["y"] + 20)

    await expect(page.locator("#chart-speed .chart-tip")).to_contain_text("3 workers started")
