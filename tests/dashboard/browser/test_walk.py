"""Every page in a light and a dark theme, on a desktop and a phone, and for screen readers."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page

from tests.dashboard.browser.conftest import Visit
from tests.dashboard.scenery import Scenery, furnish
from tests.sql.engine import Engine
from tests.web.matrix import read_table

TABLE = read_table(Path(__file__).parents[1] / "routes.txt")
# Fragments of forms, and files, are not pages.
NO_PAGES = ("/assets/", "/schedules/explain", "/suggestions/")
PATHS = [entry.path for entry in TABLE if entry.method == "GET" and not entry.path.startswith(NO_PAGES)]
AXE = Axe().axe_script
# The rules whose results depend on colors.
COLORS = ["color-contrast", "link-in-text-block"]
SERIOUS = {"serious", "critical"}
# Until then, plots and the first events of the stream still move the page.
SETTLED = "() => document.readyState === 'complete' && document.querySelector('#stream-state')?.dataset.state !== 'off'"
Theme = Literal["light", "dark"]


@pytest.fixture
def scenery(pool: Engine) -> Scenery:
    return furnish(pool)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
async def test_every_page_renders_without_problems(
    visit: Visit, scenery: Scenery, pictures: Path, width: int, theme: Theme
) -> None:
    page = await visit("/login", width=width, theme=theme)
    problems = []
    for address in [*map(scenery.path, PATHS), *scenery.more()]:
        answer = await page.goto(address)
        if answer is None or answer.status != 200:
            problems.append(f"{address}: {answer and answer.status}")
            continue
        await page.wait_for_function(SETTLED)
        problems += [f"{address}: {problem}" async for problem in offences(page, width)]
        problems += [f"{address}: {problem}" async for problem in offences_of_the_other_theme(page, theme)]
        name = re.sub(r"\W+", "-", address.strip("/")) or "overview"
        await page.screenshot(path=pictures / f"{name}-{width}-{theme}.png", full_page=True)

    assert problems == []


async def offences(page: Page, width: int) -> AsyncIterator[str]:
    """Return the faults of an open page: axe's serious findings, and elements that overflow the page."""
    if (wide := await page.evaluate("document.scrollingElement.scrollWidth")) > width:
        yield f"it is {wide} pixels wide"
    async for finding in findings(page):
        yield finding


async def offences_of_the_other_theme(page: Page, theme: Theme) -> AsyncIterator[str]:
    """Return what axe finds when the theme changes, which changes nothing but colors; then restore the theme."""
    other: Theme = "light" if theme == "dark" else "dark"
    await page.emulate_media(color_scheme=other)
    async for finding in findings(page, runOnly=COLORS):
        yield f"in the {other} theme: {finding}"
    await page.emulate_media(color_scheme=theme)


async def findings(page: Page, **options: object) -> AsyncIterator[str]:
    """Return axe's serious findings on an open page."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE)
    options = {"resultTypes": ["violations"], **options}
    for each in await page.evaluate("async options => (await axe.run(options)).violations", options):
        if each["impact"] in SERIOUS:
            places = "; ".join(node["html"][:120] for node in each["nodes"][:3])
            yield f"{each['id']}: {each['help']}: {places}"
