"""payload_fetch_all: the schedule's task, which fans out into one payload_fetch for each store that is due."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg

from rolecall import App, Context
from storecrawl.catalog import stores_due
from storecrawl.crawler import Crawler, store_key
from storecrawl.roles.payload_fetch import fetch_task

# A store counts as due a little early, so that a fetch that ran late does not cost it a whole round.
EARLY = 0.9


def add_payload_fetch_all(app: App, crawler: Crawler) -> None:
    """Define the handler."""

    @app.task(role="payload_fetch")
    async def payload_fetch_all(ctx: Context, state: str | None = None) -> None:
        """Enqueue a fetch for each store that is due and has no open task."""
        interval = timedelta(seconds=crawler.settings.fetch_every * EARLY)
        async with ctx.transaction() as tx:
            due = await stores_due(tx, interval, state=state)
            busy = await _keys_of_open_tasks(tx)
            chosen = [store.id for store in due if store_key(store.id) not in busy]
            for store_id in chosen:
                ctx.follow_up(fetch_task(store_id))
            await ctx.complete(tx, {"due": len(due), "enqueued": len(chosen)})


async def _keys_of_open_tasks(tx: psycopg.AsyncConnection[Any]) -> frozenset[str]:
    cursor = await tx.execute("select key from rolecall.all_tasks where finished_at is null and key is not null")
    return frozenset(key for (key,) in await cursor.fetchall())
