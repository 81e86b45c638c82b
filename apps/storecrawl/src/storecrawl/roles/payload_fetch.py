"""payload_fetch: fetch one store's menu from the upstream and keep the raw document."""

from __future__ import annotations

from rolecall import App, Cancel, Context, NewTask, Snooze
from storecrawl.crawler import Crawler, store_key
from storecrawl.roles.fetching import fetch_payload


def add_payload_fetch(app: App, crawler: Crawler) -> None:
    """Define the handler."""

    @app.task(role="payload_fetch")
    async def payload_fetch(ctx: Context, store_id: int) -> Cancel | Snooze | None:
        """Fetch the menu, write the payload file, and leave the rest to product_refresh."""
        return await fetch_payload(ctx, crawler, store_id)


def fetch_task(store_id: int) -> NewTask:
    """The task that fetches a store's menu; while one is open, another is not added."""
    return NewTask(
        handler="payload_fetch",
        payload={"store_id": store_id},
        key=store_key(store_id),
        dedupe_key=store_key(store_id),
    )
