"""payload_fetch_all: the scheduled task that enqueues a payload_fetch for each store, spread over the interval.

Every store has a fixed time in the round, derived from its id. It is thus fetched once per interval,
and the load of the upstream and the workers is even. A round begins with the stores that had no menu for too long: they
become dark.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import psycopg

from rolecall import App, Context, stagger
from storecrawl.catalog import DueStore, darken_stores, stores_due
from storecrawl.roles.crawler import Crawler, store_key
from storecrawl.roles.payload_fetch import fetch_task
from storecrawl.settings import CrawlSettings

# A store is due slightly early, so that a late fetch does not make it miss a whole round.
EARLY = 0.9


def add_payload_fetch_all(app: App, crawler: Crawler) -> None:
    """Register the handler."""

    @app.task(role="payload_fetch")
    async def payload_fetch_all(ctx: Context, state: str | None = None, platform: str | None = None) -> None:
        """Enqueue a fetch for each due store of a platform or of all, unless it has an open task."""
        dark = await _darken(ctx, crawler.settings.dark_after, state)
        async with ctx.transaction() as tx:
            due: list[tuple[int, datetime]] = []
            for name in [platform] if platform else crawler.settings.platforms:
                crawler.platform(name)
                due += await _due_stores(tx, crawler.settings.of(name), name, state, ctx.task.scheduled_for)
            busy = await _keys_of_open_tasks(tx)
            chosen = [(store_id, moment) for store_id, moment in due if store_key(store_id) not in busy]
            for store_id, moment in chosen:
                ctx.follow_up(fetch_task(store_id).options(scheduled_for=moment))
            await ctx.complete(tx, {"due": len(due), "enqueued": len(chosen), "dark": dark})


async def _due_stores(
    tx: psycopg.AsyncConnection[Any], settings: CrawlSettings, platform: str, state: str | None, begin: datetime
) -> list[tuple[int, datetime]]:
    """Return the due stores of a platform, each with its time in the round."""
    interval = timedelta(seconds=settings.fetch_every)
    stores = await stores_due(tx, timedelta(), state=state, platform=platform, now=begin + interval)
    places = stagger(sorted(stores, key=_by_id), batches=settings.fetch_batches, over=interval, start=begin)
    return [(store.id, moment) for store, moment in places if _is_due(store, moment, interval * EARLY)]


async def _darken(ctx: Context, after: timedelta, state: str | None) -> int:
    dark = 0
    while True:
        ctx.check()
        async with ctx.transaction() as tx:
            found = await darken_stores(tx, after, state=state)
        if not found:
            return dark
        dark += len(found)


def _by_id(store: DueStore) -> int:
    return store.id


def _is_due(store: DueStore, moment: datetime, interval: timedelta) -> bool:
    return store.last_fetch_at is None or store.last_fetch_at <= moment - interval


async def _keys_of_open_tasks(tx: psycopg.AsyncConnection[Any]) -> frozenset[str]:
    cursor = await tx.execute("select key from rolecall.all_tasks where finished_at is null and key is not null")
    return frozenset(key for (key,) in await cursor.fetchall())
