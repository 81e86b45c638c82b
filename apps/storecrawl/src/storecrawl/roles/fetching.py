"""Fetch one store's menu and keep it: the work that product_discovery and payload_fetch share."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec
import psycopg

from rolecall import Cancel, Context, NewTask, Snooze
from storecrawl.catalog import block_store, record_payload
from storecrawl.crawler import Crawler, store_key
from storecrawl.payloads import WrittenPayload
from storecrawl.roles.store_rows import CrawlStore, database_time, find_store
from storecrawl.upstream import Blocked, RawMenu, UnknownStore

Connection = psycopg.AsyncConnection[Any]

MOST_URGENT = 100
FORBIDDEN = 403


async def fetch_payload(ctx: Context, crawler: Crawler, store_id: int) -> Cancel | Snooze | None:
    """Fetch the menu, write the file, then commit its row, the follow-up and the completion together.

    A crash between file and row leaves a file that no row names: it is collected later, and the next attempt writes
    another. Returns Cancel for a store that is gone or not to be crawled. An id that the upstream no longer knows is
    handed on to entry_point_discovery instead. A store that is forbidden to us, by whatever route, is blocked: its task
    waits, longer each time, and spends no attempt.
    """
    async with ctx.transaction() as tx:
        store = await find_store(tx, store_id)
        fetched_at = await database_time(tx)
    if store is None:
        return Cancel(f"store {store_id} is unknown, disabled, or has no platform id")
    try:
        menu = await crawler.upstream.menu(store.platform_store_id, store.pricing_types)
        is_known = bool(menu.products) or await _is_known(crawler, store)
    except Blocked as wall:
        if wall.status != FORBIDDEN or not crawler.settings.forbidden_limit:
            raise
        return await _leave_alone(ctx, crawler, store, str(wall))
    if not is_known:
        await _have_id_investigated(ctx, store)
        return None
    written = await _write(ctx, crawler, store, menu)
    async with ctx.transaction() as tx:
        payload_id = await _record(tx, ctx, store, menu, written, fetched_at)
        # Before more is fetched: a first crawl of thousands of stores shows products from its first minute on.
        ctx.continue_with(refresh_task(store.id, payload_id).options(priority=min(ctx.task.priority + 1, MOST_URGENT)))
        await ctx.complete(tx, {"payload_id": payload_id, "products": len(menu.products), "bytes": written.size_raw})
    return None


def refresh_task(store_id: int, payload_id: int) -> NewTask:
    """The task that turns a payload into products."""
    return NewTask(handler="product_refresh", payload={"payload_id": payload_id}, key=store_key(store_id))


def replay_task(store_id: int, payload_id: int) -> NewTask:
    """The task that applies a payload again; while one is open, another is not added."""
    return refresh_task(store_id, payload_id).options(dedupe_key=f"replay:{payload_id}")


def investigation_task(store_id: int, platform_store_id: str) -> NewTask:
    """The task that finds out by which id a store goes now; while one is open, another is not added."""
    return NewTask(
        handler="entry_point_discovery",
        payload={"entry": platform_store_id, "store_id": store_id},
        dedupe_key=f"id of {store_key(store_id)}",
    )


async def _leave_alone(ctx: Context, crawler: Crawler, store: CrawlStore, because: str) -> Snooze:
    first = timedelta(seconds=crawler.settings.block_first)
    async with ctx.transaction() as tx:
        seconds = await block_store(tx, store.id, because, first=first)
    await ctx.info({"held_back": f"the store is blocked: {because}"})
    return Snooze(seconds)


async def _is_known(crawler: Crawler, store: CrawlStore) -> bool:
    """Whether the upstream has the store at all: it answers for one that it never had as for one that sells nothing."""
    try:
        await crawler.upstream.store(store.platform_store_id)
    except UnknownStore:
        return False
    return True


async def _have_id_investigated(ctx: Context, store: CrawlStore) -> None:
    ctx.follow_up(investigation_task(store.id, store.platform_store_id))
    async with ctx.transaction() as tx:
        await ctx.complete(tx, {"unknownId": store.platform_store_id})


async def _write(ctx: Context, crawler: Crawler, store: CrawlStore, menu: RawMenu) -> WrittenPayload:
    document = await crawler.in_thread(lambda: msgspec.json.encode(menu.document()))
    return await crawler.in_thread(crawler.payloads.write, store.id, document, task_id=ctx.task_id, attempt=ctx.attempt)


async def _record(  # sizes: what the row is made of
    tx: Connection, ctx: Context, store: CrawlStore, menu: RawMenu, written: WrittenPayload, fetched_at: datetime
) -> int:
    return await record_payload(
        tx, written, store_id=store.id, task_id=ctx.task_id, fetched_at=fetched_at, product_count=len(menu.products)
    )
