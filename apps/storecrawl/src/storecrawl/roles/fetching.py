"""Fetch one store's menu and keep it: the work that product_discovery and payload_fetch share."""

from __future__ import annotations

from datetime import timedelta

from rolecall import Cancel, Context, NewTask, Snooze
from storecrawl.catalog import block_store
from storecrawl.crawler import Crawler, store_key
from storecrawl.egress import HeldBack
from storecrawl.roles.keeping import Keeping
from storecrawl.roles.store_rows import CrawlStore, database_time, find_store
from storecrawl.upstream import Blocked, RawMenu, UnknownStore

MOST_URGENT = 100
FORBIDDEN = 403


async def fetch_payload(ctx: Context, crawler: Crawler, store_id: int) -> Cancel | Snooze | None:
    """Fetch the menu, write its files, then commit their rows, the follow-up and the completion together.

    A crash between files and rows leaves files that no row names: they are collected later, and the next attempt writes
    others. Answers of which no menu can be made are kept too, with the reason. Returns Cancel for a store that is gone
    or not to be crawled. An id that the upstream no longer knows is handed on to entry_point_discovery instead. A store
    that is forbidden to us, by whatever route, is blocked: its task waits, longer each time, and spends no attempt.
    """
    async with ctx.transaction() as tx:
        store = await find_store(tx, store_id)
        fetched_at = await database_time(tx)
    if store is None:
        return Cancel(f"store {store_id} is unknown, disabled, or has no platform id")
    keeping = Keeping(ctx=ctx, crawler=crawler, store=store, fetched_at=fetched_at)
    try:
        menu = await _known_menu(keeping)
    except HeldBack:
        raise
    except Exception as problem:
        if isinstance(problem, Blocked) and problem.status == FORBIDDEN and crawler.settings.forbidden_limit:
            return await _leave_alone(ctx, crawler, store, str(problem))
        await keeping.keep_refused(problem)
        raise
    if menu is None:
        await _have_id_investigated(ctx, store)
    else:
        await _hand_on(keeping, menu)
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


async def _known_menu(keeping: Keeping) -> RawMenu | None:
    """Fetch the menu; None for an id that the upstream does not know: it answers as for a store that sells nothing."""
    store, upstream = keeping.store, keeping.crawler.upstream
    menu = await upstream.menu(store.platform_store_id, store.pricing_types, keep=keeping.answers.append)
    if not menu.products:
        try:
            await upstream.store(store.platform_store_id)
        except UnknownStore:
            return None
    return menu


async def _hand_on(keeping: Keeping, menu: RawMenu) -> None:
    ctx, kept = keeping.ctx, await keeping.keep(menu)
    async with ctx.transaction() as tx:
        payload_id = await keeping.record(tx, kept)
        # Before more is fetched: a first crawl of thousands of stores shows products from its first minute on.
        follower = refresh_task(keeping.store.id, payload_id)
        ctx.continue_with(follower.options(priority=min(ctx.task.priority + 1, MOST_URGENT)))
        size = kept.written.size_raw
        await ctx.complete(tx, {"payload_id": payload_id, "products": kept.product_count, "bytes": size})


async def _leave_alone(ctx: Context, crawler: Crawler, store: CrawlStore, because: str) -> Snooze:
    first = timedelta(seconds=crawler.settings.block_first)
    async with ctx.transaction() as tx:
        seconds = await block_store(tx, store.id, because, first=first)
    await ctx.info({"held_back": f"the store is blocked: {because}"})
    return Snooze(seconds)


async def _have_id_investigated(ctx: Context, store: CrawlStore) -> None:
    ctx.follow_up(investigation_task(store.id, store.platform_store_id))
    async with ctx.transaction() as tx:
        await ctx.complete(tx, {"unknownId": store.platform_store_id})
