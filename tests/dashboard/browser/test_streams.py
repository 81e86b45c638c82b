"""All windows of a browser share one stream of events."""

from __future__ import annotations

import asyncio

from playwright.async_api import Page, Request, expect

from tests.dashboard.browser.conftest import Visit
from tests.sql.engine import Engine

# More than the six connections that a browser opens to a server.
WINDOWS = 8


async def open_windows(first: Page, paths: list[str]) -> tuple[list[Page], list[Request]]:
    """Open further windows of the same browser, and note the streams of all of them from now on."""
    streams: list[Request] = []
    first.context.on("request", lambda request: streams.append(request) if "/api/live" in request.url else None)
    others = []
    for path in paths:
        others.append(await first.context.new_page())
        await others[-1].goto(path)
    return [first, *others], streams


async def test_eight_windows_load_and_are_refreshed_over_one_stream(pool: Engine, visit: Visit) -> None:
    first = await visit("/tasks")
    await expect(first.locator("#stream-state")).to_contain_text("live")

    windows, streams = await open_windows(first, ["/tasks"] * (WINDOWS - 1))
    await asyncio.gather(*(expect(window.locator("#stream-state")).to_contain_text("live") for window in windows))
    task = pool.enqueue("sums", handler="add")

    await asyncio.gather(*(expect(window.locator(f"#task-{task}")).to_be_visible() for window in windows))
    assert streams == []


async def test_another_window_takes_over_the_stream_of_a_closed_one(pool: Engine, visit: Visit) -> None:
    first = await visit("/tasks")
    await expect(first.locator("#stream-state")).to_contain_text("live")
    [_, second], streams = await open_windows(first, ["/tasks"])
    await expect(second.locator("#stream-state")).to_contain_text("live")

    async with second.expect_request("**/api/live*"):
        await first.close()
    task = pool.enqueue("sums", handler="add")

    await expect(second.locator(f"#task-{task}")).to_be_visible()
    assert len(streams) == 1


async def test_stream_is_opened_again_with_the_needs_of_a_new_window(pool: Engine, visit: Visit) -> None:
    tree = pool.enqueue("sums", handler="add", after=3_600)
    first = await visit("/tasks")
    await expect(first.locator("#stream-state")).to_contain_text("live")

    async with first.expect_request(f"**/api/live?counts=false&root={tree}"):
        [_, second], _ = await open_windows(first, [f"/tasks/{tree}/tree"])

    await expect(second.locator("#stream-state")).to_contain_text("live")


async def test_windows_open_their_own_streams_where_browsers_have_no_locks(pool: Engine, visit: Visit) -> None:
    first = await visit("/tasks")
    await first.context.add_init_script("Object.defineProperty(navigator, 'locks', { value: undefined })")
    await first.reload()
    await expect(first.locator("#stream-state")).to_contain_text("live")

    windows, streams = await open_windows(first, ["/tasks"])
    task = pool.enqueue("sums", handler="add")

    await asyncio.gather(*(expect(window.locator(f"#task-{task}")).to_be_visible() for window in windows))
    assert len(streams) == 1
