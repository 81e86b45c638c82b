"""Fetch one store's menu and keep it: the work that product_discovery and payload_fetch share."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
import psycopg

from rolecall import Cancel, Context, NewTask
from storecrawl.catalog import record_payload
from storecrawl.crawler import Crawler, store_key
from storecrawl.payloads import WrittenPayload
from storecrawl.roles.store_rows import CrawlStore, database_time, find_store
from storecrawl.upstream import RawMenu

Connection = psycopg.AsyncConnection[Any]


async def fetch_payload(ctx: Context, crawler: Crawler, store_id: int) -> Cancel | None:
    """Fetch the menu, write the file, then commit its row, the follow-up and the completion together.

    A crash between file and row leaves a file that no row names: it is collected later, and the next attempt writes
    another. Returns Cancel for a store that is gone or not to be crawled.
    """
    async with ctx.transaction() as tx:
        store = await find_store(tx, store_id)
        fetched_at = await database_time(tx)
    if store is None:
        return Cancel(f"store {store_id} is unknown, disabled, or has no platform id")
    menu = await crawler.upstream.menu(store.platform_store_id, pricing_type=store.pricing_type)
    written = await _write(ctx, crawler, store, menu)
    async with ctx.transaction() as tx:
        payload_id = await _record(tx, ctx, store, menu, written, fetched_at)
        ctx.follow_up(refresh_task(store.id, payload_id))
        await ctx.complete(tx, {"payload_id": payload_id, "products": len(menu.products), "bytes": written.size_raw})
    return None


def refresh_task(store_id: int, payload_id: int) -> NewTask:
    """The task that turns a payload into products."""
    return NewTask(handler="product_refresh", payload={"payload_id": payload_id}, key=store_key(store_id))


async def _write(ctx: Context, crawler: Crawler, store: CrawlStore, menu: RawMenu) -> WrittenPayload:
    document = await crawler.in_thread(lambda: msgspec.json.encode(menu.document()))
    return await crawler.in_thread(crawler.payloads.write, store.id, document, task_id=ctx.task_id, attempt=ctx.attempt)


async def _record(  # sizes: what the row is made of
    tx: Connection, ctx: Context, store: CrawlStore, menu: RawMenu, written: WrittenPayload, fetched_at: datetime
) -> int:
    return await record_payload(
        tx, written, store_id=store.id, task_id=ctx.task_id, fetched_at=fetched_at, product_count=len(menu.products)
    )
