"""The crawler's pages in a browser, including a store with markup in its names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from tests.dashboard.browser.conftest import Visit, browser, site, visit
from tests.dashboard.browser.test_walk import SETTLED, offences

__all__ = ["browser", "site", "visit"]


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
async def test_every_page_renders_without_problems_and_runs_no_hostile_script(
    open_hostile_shop: Callable[[], Awaitable[list[str]]], visit: Visit, width: int, theme: str
) -> None:
    paths = await open_hostile_shop()
    page = await visit("/stores", width=width, theme=theme)
    problems = []
    for path in paths:
        await page.goto(path)
        await page.wait_for_function(SETTLED)
        problems += [f"{path}: {problem}" async for problem in offences(page, width)]
        if await page.evaluate("window.hacked"):
            problems.append(f"{path}: a script from store data has run")

    assert problems == []
