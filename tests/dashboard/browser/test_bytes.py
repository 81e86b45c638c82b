"""The bytes of an open overview of a large pool, and its first paint on a slow line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from playwright.async_api import Page, expect

from tests.dashboard.browser.conftest import Visit
from tests.sql.engine import Engine

ROLES = 200
MINUTE = 60
# The overview is watched for this many seconds.
WATCHED = 20
MOST_BYTES_A_MINUTE = 100_000
# Bytes a second of a line with 400 kbit/s, on which the first paint should come within 1.5 s.
SLOW_LINE = 50_000
MOST_BYTES_BEFORE_PAINT = 1.0 * SLOW_LINE
MOST_BYTES = 2.0 * SLOW_LINE
SIZES = """performance.getEntries().filter((each) => "encodedBodySize" in each).map(
    ({ name, encodedBodySize, renderBlockingStatus, entryType }) =>
        [name, encodedBodySize, entryType === "navigation" || renderBlockingStatus === "blocking"])"""


@dataclass(slots=True)
class Traffic:
    """The bytes that came over the network, compressed."""

    bytes: int = 0
    requests: list[str] = field(default_factory=list)


@asynccontextmanager
async def counting(page: Page) -> AsyncIterator[Traffic]:
    """Count what the page receives during the block."""
    traffic = Traffic()
    network = await page.context.new_cdp_session(page)
    await network.send("Network.enable")

    def add(event: dict[str, int]) -> None:
        traffic.bytes += event["encodedDataLength"]

    network.on("Network.dataReceived", add)
    network.on("Network.requestWillBeSent", lambda event: traffic.requests.append(event["request"]["url"]))
    yield traffic


async def test_open_overview_of_200_roles_receives_few_bytes(pool: Engine, visit: Visit) -> None:
    pool.declare(*({"name": f"role-{number}"} for number in range(ROLES)))
    pool.enqueue_many([{"role": f"role-{number}", "handler": "add"} for number in range(ROLES)])
    page = await visit("/")
    await expect(page.locator("#stream-state")).to_contain_text("live")

    async with counting(page) as traffic:
        for number in range(WATCHED):
            pool.enqueue_many([{"role": f"role-{(7 * number + each) % ROLES}", "handler": "add"} for each in range(40)])
            await asyncio.sleep(1)

    assert traffic.requests
    assert traffic.bytes * MINUTE / WATCHED < MOST_BYTES_A_MINUTE


async def test_overview_of_200_roles_needs_few_bytes_before_its_first_paint(pool: Engine, visit: Visit) -> None:
    """Half a second is left for connections and the browser. Times on a busy machine are not comparable."""
    pool.declare(*({"name": f"role-{number}"} for number in range(ROLES)))
    page = await visit("/")
    await page.wait_for_load_state()

    sizes = await page.evaluate(SIZES)

    assert sum(size for _, size, is_blocking in sizes if is_blocking) < MOST_BYTES_BEFORE_PAINT
    assert sum(size for _, size, _ in sizes) < MOST_BYTES
