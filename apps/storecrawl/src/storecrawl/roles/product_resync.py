"""product_resync: the older name of a store's regular crawl; enqueues payload_fetch and is done."""

from __future__ import annotations

from rolecall import App, Context, NewTask
from storecrawl.crawler import store_key
from storecrawl.roles.payload_fetch import fetch_task


def add_product_resync(app: App) -> None:
    """Define the handler."""

    @app.task(role="product_resync")
    async def product_resync(ctx: Context, store_id: int) -> None:
        """Send the store to payload_fetch."""
        ctx.continue_with(fetch_task(store_id))


def resync_task(store_id: int) -> NewTask:
    """The task that sends a store to its regular crawl; while one is open, another is not added."""
    return NewTask(
        handler="product_resync",
        payload={"store_id": store_id},
        key=store_key(store_id),
        dedupe_key=store_key(store_id),
    )
