"""Takes the README's screenshots of a demo of the crawler in a real browser."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from tempfile import TemporaryDirectory
from typing import Literal
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, sync_playwright

from tools import browser
from tools.offences import ROOT

FOLDER = ROOT / "docs" / "pictures"
DEMO = (str(ROOT / ".venv/bin/storecrawl"), "demo", "--stores", "40", "--step-seconds", "12", "--failure-rate", "0.05")
ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+)(/enter\?token=\S+)")
SIZE = {"width": 1360, "height": 850}
LARGEST = 200_000
ROUNDS = 240_000
# The text that must be visible before a screenshot, and the timeout for a history to develop (milliseconds).
PLOTS = "document.querySelectorAll('line-chart canvas').length >= {}"

Theme = Literal["dark", "light"]


def main() -> int:
    """Take all screenshots; return 1 if one is too large to be committed."""
    path = browser.find()
    if path is None:
        print("Chromium is not installed: run ./dev browser", file=sys.stderr)
        return 1
    FOLDER.mkdir(exist_ok=True)
    with demo() as (address, way_in), sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        take_all(chromium, address, way_in)
        chromium.close()
    too_large = [file.name for file in FOLDER.glob("*.png") if file.stat().st_size > LARGEST]
    print("\n".join(f"{file.name}: {file.stat().st_size // 1000} kB" for file in sorted(FOLDER.glob("*.png"))))
    return 1 if too_large else 0


@contextmanager
def demo() -> Iterator[tuple[str, str]]:
    """Run a continuous demo; yield the dashboard's address and the path for logging in."""
    with TemporaryDirectory() as folder:
        command = [*DEMO, "--data-dir", folder]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            address, way_in = next(
                (found[1], found[2]) for line in process.stdout or () if (found := ADDRESS.search(line))
            )
            yield browser_address(address, way_in), way_in
        finally:
            process.terminate()
            process.communicate()


def browser_address(address: str, way_in: str) -> str:
    """Query the server for the host name under which a browser logs in."""
    connection = HTTPConnection(urlsplit(address).netloc)
    connection.request("GET", way_in)
    sent_on = urlsplit(connection.getresponse().headers["location"])
    connection.close()
    return f"{sent_on.scheme}://{sent_on.netloc}"


def take_all(chromium: Browser, address: str, way_in: str) -> None:
    """Let the crawl run for a while, then visit page after page."""
    light, dark = open_page(chromium, address, "light"), open_page(chromium, address, "dark")
    light.goto(way_in)
    dark.goto(way_in)
    light.goto("/stores")
    light.wait_for_timeout(ROUNDS)
    light.goto("/?minutes=10")
    light.wait_for_function(PLOTS.format(4))
    take(light, "overview")
    dark.goto("/tasks?role=payload_fetch")
    dark.get_by_role("row").nth(1).get_by_role("link").first.click()
    take(dark, "task")
    light.goto("/stores")
    light.locator("tr[id^=store-]").first.get_by_role("link").first.click()
    light.get_by_role("link", name="Latest changes").click()
    take(light, "diff")
    light.goto("/capacity?role=payload_fetch&workers=3")
    light.wait_for_function(PLOTS.format(1))
    take(light, "capacity")
    dark.goto("/products")
    dark.locator("tbody tr").first.get_by_role("link").first.click()
    dark.wait_for_function(PLOTS.format(1))
    take(dark, "product")


def open_page(chromium: Browser, address: str, theme: Theme) -> Page:
    """Open a page for each theme."""
    context = chromium.new_context(base_url=address, viewport=SIZE, color_scheme=theme, locale="en-US")  # type: ignore[arg-type]
    return context.new_page()


def take(page: Page, name: str) -> None:
    """Wait until nothing is loading, and take the screenshot."""
    page.wait_for_timeout(1_500)
    page.screenshot(path=FOLDER / f"{name}.png")


if __name__ == "__main__":
    sys.exit(main())
