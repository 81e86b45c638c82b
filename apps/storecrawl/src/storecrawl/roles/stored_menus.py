"""Read the menus of stored payloads within a task."""

from __future__ import annotations

from rolecall import Context
from storecrawl.catalog import StoredPayload, read_document, unpacked_menu
from storecrawl.catalog.normalize import Menu, NotAMenu
from storecrawl.platforms.menus import packed_menu
from storecrawl.roles.crawler import Crawler

# A document of this size is normalized within a second, whatever it contains; starting a process takes as
# long.
SMALL = 1_000_000


async def read_stored_menu(ctx: Context, crawler: Crawler, payload: StoredPayload) -> Menu:
    """Read a payload's file and normalize it. Raises PayloadError and NotAMenu.

    Documents are untrusted: normalization that may take long runs where the task's timeout can kill it.
    """
    document = await crawler.run_in_thread(read_document, crawler.payloads, payload)
    if len(document) <= SMALL:
        read = await crawler.run_in_thread(packed_menu, payload.platform, document)
    else:
        read = await ctx.in_process(packed_menu, payload.platform, document)
    if isinstance(read, NotAMenu):
        raise read
    return await crawler.run_in_thread(unpacked_menu, read)
