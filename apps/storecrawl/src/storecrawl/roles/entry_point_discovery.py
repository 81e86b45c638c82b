"""entry_point_discovery: find the platform's id of a store that is known by its slug or menu address only."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from rolecall import App, Cancel, Context
from storecrawl.catalog import discover_locations, promote_locations, read_stores
from storecrawl.crawler import Crawler
from storecrawl.roles.store_discovery import first_crawl

MENU_PATH = re.compile(r"^/(?:dispensary|embedded-menu|stores)/([0-9A-Za-z][0-9A-Za-z_-]{0,99})(?:/|$)")


def add_entry_point_discovery(app: App, crawler: Crawler) -> None:
    """Define the handler."""

    @app.task(role="entry_point_discovery")
    async def entry_point_discovery(ctx: Context, entry: str) -> Cancel | None:
        """Resolve a slug, a platform id or a menu address; a new store goes on to product_discovery."""
        wanted = slug_of(entry)
        if wanted is None:
            return Cancel(f"{entry!r} is neither a slug nor the address of a menu")
        found = await crawler.upstream.store(wanted)
        async with ctx.transaction() as tx:
            await discover_locations(tx, read_stores([found.raw]))
            new = await promote_locations(tx)
            for store_id in new:
                ctx.follow_up(first_crawl(store_id))
            await ctx.complete(tx, {"newStoreIds": new})
        return None


def slug_of(entry: str) -> str | None:
    """Return what the platform can look up: the slug within a menu's address, or the slug or id itself."""
    if "/" not in entry:
        return entry or None
    match = MENU_PATH.match(urlsplit(entry).path)
    return match[1] if match else None
