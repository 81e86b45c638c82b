"""payload_fetch: fetch one store's menu from the upstream and store the raw document.

product_discovery is the first crawl of a new store, product_resync a crawl planned for a whole day at
once. The three do the same work in separate roles, so that each can be scaled and measured on its own.
"""

from __future__ import annotations

from datetime import timedelta

from rolecall import App, Cancel, Context, NewTask, Snooze
from storecrawl.catalog import SAME_ID_LIMIT, NewestMenu, begin_fetch, block_store, newest_base, newest_menu
from storecrawl.egress import HeldBack
from storecrawl.platforms.errors import Blocked, UnknownStore
from storecrawl.platforms.protocol import FetchedMenu
from storecrawl.roles.crawler import STORE_KEY, Crawler, store_key
from storecrawl.roles.fetch_archive import FetchArchive
from storecrawl.roles.store_tasks import CrawlStore, find_store

MOST_URGENT = 100
FORBIDDEN = 403


def add_payload_fetch(app: App, crawler: Crawler) -> None:
    """Register the handler."""

    @app.task(role="payload_fetch", key=STORE_KEY)
    async def payload_fetch(ctx: Context, store_id: int, platform: str | None = None) -> Cancel | Snooze | None:
        """Fetch the menu, write the payload file, and enqueue product_refresh."""
        return await fetch_payload(ctx, crawler, store_id, platform)


def fetch_task(store_id: int) -> NewTask:
    """Return the task that fetches a store's menu; an open one is kept."""
    return NewTask(handler="payload_fetch", payload={"store_id": store_id}, dedupe_key=store_key(store_id))


async def fetch_payload(
    ctx: Context, crawler: Crawler, store_id: int, platform: str | None = None
) -> Cancel | Snooze | None:
    """Fetch the menu, write its files, then commit their rows, the follow-up and the completion together.

    A crash between files and rows leaves files without a row, which the sweep removes; the next attempt
    writes new ones. Responses that do not result in a menu are stored with the reason. Returns Cancel if
    the store is gone, must not be crawled, or is not on the given platform. An id that the platform no longer
    knows is passed to entry_point_discovery. A store that is forbidden on every route is blocked: its task is
    snoozed, longer each time, and spends no attempt.
    """
    async with ctx.transaction() as tx:
        store = await find_store(tx, store_id)
        if store is None:
            return Cancel(f"store {store_id} is unknown, disabled, or has no platform or platform id")
        if platform not in {None, store.platform}:
            return Cancel(f"store {store_id} is on the platform {store.platform}, not on {platform}")
        begun = await begin_fetch(tx, store_id)
        newest = await newest_menu(tx, store_id)
        base = await newest_base(tx, store_id)
    archive = FetchArchive(ctx=ctx, crawler=crawler, store=store, begun=begun, newest=newest, base=base)
    try:
        menu = await archive.fetch()
    except HeldBack:
        raise
    except UnknownStore:
        await _request_investigation(ctx, store)
        return None
    except Exception as problem:
        if isinstance(problem, Blocked) and problem.status == FORBIDDEN and crawler.settings.forbidden_limit:
            return await _block_store(ctx, crawler, store, str(problem))
        await archive.archive_refused(problem)
        raise
    await _store_menu(archive, menu)
    return None


def refresh_task(store_id: int, payload_id: int) -> NewTask:
    """Return the task that turns a payload into products."""
    return NewTask(handler="product_refresh", payload={"payload_id": payload_id, "store_id": store_id})


def replay_task(store_id: int, payload_id: int) -> NewTask:
    """Return the task that applies a payload again; an open one is kept."""
    return refresh_task(store_id, payload_id).options(dedupe_key=f"replay:{payload_id}")


def investigation_task(store_id: int, platform_store_id: str) -> NewTask:
    """Return the task that finds a store's current id; an open one is kept."""
    return NewTask(
        handler="entry_point_discovery",
        payload={"entry": platform_store_id, "store_id": store_id},
        dedupe_key=f"id of {store_key(store_id)}",
    )


def add_product_discovery(app: App, crawler: Crawler) -> None:
    """Register the handler."""

    @app.task(role="product_discovery", key=STORE_KEY)
    async def product_discovery(ctx: Context, store_id: int, platform: str | None = None) -> Cancel | Snooze | None:
        """Fetch a new store's first menu like payload_fetch, in this task."""
        return await fetch_payload(ctx, crawler, store_id, platform)


def add_product_resync(app: App, crawler: Crawler) -> None:
    """Register the handler."""

    @app.task(role="product_resync", key=STORE_KEY)
    async def product_resync(ctx: Context, store_id: int, platform: str | None = None) -> Cancel | Snooze | None:
        """Fetch a store's menu at its time of the day like payload_fetch, in this task."""
        return await fetch_payload(ctx, crawler, store_id, platform)


def resync_task(store_id: int) -> NewTask:
    """Return the task that fetches a store's menu at its time of a day; an open one is kept."""
    return NewTask(handler="product_resync", payload={"store_id": store_id}, dedupe_key=store_key(store_id))


async def _store_menu(archive: FetchArchive, menu: FetchedMenu | NewestMenu) -> None:
    ctx, archived_menu = archive.ctx, await archive.write(menu)
    async with ctx.transaction() as tx:
        payload_id = await archive.record(tx, archived_menu)
        # Before further fetches, so that a first crawl of thousands of stores shows products within a minute.
        follow_up = refresh_task(archive.store.id, payload_id)
        ctx.continue_with(follow_up.options(priority=min(ctx.task.priority + 1, MOST_URGENT)))
        size = archived_menu.written.size_raw
        await ctx.complete(tx, {"payload_id": payload_id, "products": archived_menu.product_count, "bytes": size})


async def _block_store(ctx: Context, crawler: Crawler, store: CrawlStore, reason: str) -> Snooze:
    first = timedelta(seconds=crawler.settings.block_first)
    async with ctx.transaction() as tx:
        seconds = await block_store(tx, store.id, reason, first=first)
    await ctx.info({"held_back": f"the store is blocked: {reason}"})
    return Snooze(seconds)


async def _request_investigation(ctx: Context, store: CrawlStore) -> None:
    """Search the store's current id, unless searches keep finding the same one: then a person must look."""
    needs_person = store.same_id_finds >= SAME_ID_LIMIT
    if not needs_person:
        ctx.follow_up(investigation_task(store.id, store.platform_store_id))
    async with ctx.transaction() as tx:
        await ctx.complete(tx, {"unknownId": store.platform_store_id, "needsInvestigation": needs_person})
