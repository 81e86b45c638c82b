"""product_resync: the older name of a store's regular crawl; enqueues payload_fetch and is done."""

from __future__ import annotations

from rolecall import App, Context
from storecrawl.roles.payload_fetch import fetch_task


def add_product_resync(app: App) -> None:
    """Define the handler."""

    @app.task(role="product_resync")
    async def product_resync(ctx: Context, store_id: int) -> None:
        """Send the store to payload_fetch."""
        ctx.follow_up(fetch_task(store_id))
