"""product_discovery: the first crawl of a new store."""

from __future__ import annotations

from rolecall import App, Cancel, Context, Snooze
from storecrawl.crawler import Crawler
from storecrawl.roles.fetching import fetch_payload


def add_product_discovery(app: App, crawler: Crawler) -> None:
    """Define the handler."""

    @app.task(role="product_discovery")
    async def product_discovery(ctx: Context, store_id: int) -> Cancel | Snooze | None:
        """Fetch a new store's first menu, in this very task, as payload_fetch does."""
        return await fetch_payload(ctx, crawler, store_id)
