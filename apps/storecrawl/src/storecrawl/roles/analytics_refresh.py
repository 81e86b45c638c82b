"""analytics_refresh: derive statistics from products, in rounds, as a tree of tasks.

    collect_changes (enqueued by a change)  |  analytics_refresh (every six hours: everything)
      1 map_stores
          count_stores ...         batches of stores in parallel, into partials
      2 merge_statistics           one merge of all partials
      3 refresh_views              analytics_refresh only

Each root first publishes the changes of the catalog, so that readers and webhooks get them.

Payloads contain the stores of a round; null means all. The role has one root at a time, so that rounds
run one after another, and children have their root's priority.
"""

from __future__ import annotations

from datetime import timedelta

from rolecall import App, Context, Dedupe, NewTask
from storecrawl.catalog import (
    all_stores,
    begin_round,
    count_stores,
    merge_statistics,
    partials_complete,
    refresh_stale_views,
    split_batches,
    take_changes,
)
from storecrawl.roles.crawler import Crawler
from storecrawl.roles.webhooks import publish

ROLE = "analytics_refresh"


def add_analytics_refresh(app: App, crawler: Crawler) -> None:
    """Register the handlers."""
    _add_roots(app, timedelta(seconds=crawler.settings.derive_pause))
    _add_steps(app)


def collection_task() -> NewTask:
    """Return the task that takes the change log, as the triggers enqueue it: at most one is pending."""
    return NewTask(handler="collect_changes", dedupe_key="changes", dedupe=Dedupe(scope="pending"))


def _add_roots(app: App, pause: timedelta) -> None:
    @app.task(role=ROLE)
    async def collect_changes(ctx: Context) -> None:
        """Publish changes, take the change log and count its stores, or all of them after a server crash."""
        async with ctx.transaction() as tx:
            await publish(ctx, tx)
            changes = await take_changes(tx)
            stores = None if changes.unmarked else changes.stores
            if stores is None or stores:
                ctx.spawn(*_steps(stores), serial=True)
            count = None if stores is None else len(stores)
            await begin_round(tx, stores=count, pause=pause, logged=changes.logged)
            await ctx.complete(tx, {"stores": count})

    @app.task(role=ROLE)
    async def analytics_refresh(ctx: Context) -> None:
        """Publish changes, count everything, whatever the log contains, and refresh the views."""
        async with ctx.transaction() as tx:
            await publish(ctx, tx)
            changes = await take_changes(tx)
            ctx.spawn(*_steps(None), NewTask(handler="refresh_views"), serial=True)
            await begin_round(tx, stores=None, pause=pause, logged=changes.logged)
            await ctx.complete(tx, {"stores": None})


def _steps(stores: list[int] | None) -> tuple[NewTask, NewTask]:
    payload = {"stores": stores}
    return NewTask(handler="map_stores", payload=payload), NewTask(handler="merge_statistics", payload=payload)


def _add_steps(app: App) -> None:
    @app.task(role=ROLE)
    async def map_stores(ctx: Context, stores: list[int] | None) -> None:
        async with ctx.transaction() as tx:
            chosen = await all_stores(tx) if stores is None else stores
            batches = split_batches(chosen)
            ctx.spawn(*(NewTask(handler="count_stores", payload={"stores": list(batch)}) for batch in batches))
            await ctx.complete(tx, {"batches": len(batches)})

    @app.task(role=ROLE, name="count_stores")
    async def count_batch(ctx: Context, stores: list[int]) -> None:
        async with ctx.transaction() as tx:
            await ctx.complete(tx, {"partials": await count_stores(tx, stores)})

    @app.task(role=ROLE, name="merge_statistics")
    async def merge(ctx: Context, stores: list[int] | None) -> None:
        """Merge the partials, unless a crash has emptied them; then another round counts everything."""
        async with ctx.transaction() as tx:
            if await partials_complete(tx):
                await ctx.complete(tx, {"changed": await merge_statistics(tx, stores)})
            else:
                ctx.follow_up(collection_task())
                await ctx.complete(tx, {"changed": None})

    @app.task(role=ROLE)
    async def refresh_views(ctx: Context) -> None:
        """Refresh the materialized views if anything has changed, without blocking readers."""
        async with ctx.transaction() as tx:
            await ctx.complete(tx, {"refreshed": await refresh_stale_views(tx)})
