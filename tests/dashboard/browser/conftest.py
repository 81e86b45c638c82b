"""A real browser with a real server. All tests of this folder share one event loop, because they share the browser."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, ConsoleMessage, Error, Page, async_playwright, expect

from rolecall import App
from tests.dashboard.browser.sites import Site, ThreadSite, serving
from tests.web.doors import unguarded
from tools.browser import find
from tools.offences import ROOT

Visit = Callable[..., Awaitable[Page]]
HERE = Path(__file__).parent
# From the animation between two pages, if another page is requested before it has ended. This is harmless.
OVERTAKEN = "Transition was skipped"
# Wait for the final state of a page, even on a busy machine.
expect.set_options(timeout=30_000)
# Root cannot use the sandbox. The other flags turn off requests to the browser's vendor, which a closed network rejects.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest.fixture
def site(database: str, app: App) -> Iterator[ThreadSite]:
    with serving(unguarded(database, app)) as site:
        yield site


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """A real browser, one for all tests of a process."""
    path = find()
    if path is None:
        pytest.skip("Chromium is not installed: run ./dev browser")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def visit(browser: Browser, site: Site) -> AsyncIterator[Visit]:
    """Open a page: `await visit("/tasks", width=390, theme="dark")`. Errors in the browser's console fail the test."""
    contexts = []
    complaints: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            complaints.append(message.text)

    def note_error(error: Error) -> None:
        if str(error) != OVERTAKEN:
            complaints.append(str(error))

    async def open_page(
        path: str,
        *,
        width: int = 1440,
        theme: str = "light",
        scripts: bool = True,
        quiet: bool = True,
        moves: bool = False,
    ) -> Page:
        context = await browser.new_context(
            base_url=site.address,
            viewport={"width": width, "height": 900},
            color_scheme="dark" if theme == "dark" else "light",
            locale="en-US",
            timezone_id="America/New_York",
            java_script_enabled=scripts,
            # The animation between two pages takes more CPU than the pages.
            reduced_motion="no-preference" if moves else "reduce",
        )
        contexts.append(context)
        page = await context.new_page()
        # Without `quiet`, the test causes errors that the browser may log.
        if quiet:
            page.on("console", note)
        page.on("pageerror", note_error)
        await page.goto(path)
        return page

    yield open_page
    for context in contexts:
        await context.close()
    assert complaints == []


@pytest.fixture(scope="session")
def pictures() -> Path:
    """The folder with the screenshots of the last run."""
    folder = ROOT / ".pictures"
    folder.mkdir(exist_ok=True)
    return folder
