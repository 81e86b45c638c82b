"""Every page in a light and a dark theme, on a desktop and a phone, and for screen readers."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page

from tests.dashboard.browser.conftest import Visit
from tests.dashboard.scenery import Scenery, furnish
from tests.sql.engine import Engine
from tests.web.matrix import read_table

TABLE = read_table(Path(__file__).parents[1] / "routes.txt")
# Fragments of forms, and files, are not pages.
NO_PAGES = ("/assets/", "/schedules/explain")
PATHS = [entry.path for entry in TABLE if entry.method == "GET" and not entry.path.startswith(NO_PAGES)]
SERIOUS = {"serious", "critical"}
# Until then, plots and the first events of the stream still move the page.
SETTLED = "() => document.readyState === 'complete' && document.querySelector('#stream-state')?.dataset.state !== 'off'"


@pytest.fixture
def scenery(pool: Engine) -> Scenery:
    return furnish(pool)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
async def test_every_page_renders_without_problems(
    visit: Visit, scenery: Scenery, pictures: Path, width: int, theme: str
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
        name = re.sub(r"\W+", "-", address.strip("/")) or "overview"
        await page.screenshot(path=pictures / f"{name}-{width}-{theme}.png", full_page=True)

    assert problems == []


async def offences(page: Page, width: int) -> AsyncIterator[str]:
    """Return the faults of an open page: axe's serious findings, and elements that overflow the page."""
    if (wide := await page.evaluate("document.scrollingElement.scrollWidth")) > width:
        yield f"it is {wide} pixels wide"
    found = await Axe().run(page)
    for each in found.response["violations"]:
        if each["impact"] in SERIOUS:
            places = "; ".join(node["html"][:120] for node in each["nodes"][:3])
            yield f"{each['id']}: {each['help']}: {places}"
