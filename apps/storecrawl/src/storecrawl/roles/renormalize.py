"""renormalize: read stored payloads again and correct products and history, as a tree with one task per store.

    renormalize                    its result has the differences of all stores
      renormalize_store ...        one per store, while no other task of the store runs

A dry run reports the same differences and writes nothing.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timedelta

import msgspec

from rolecall import App, Context, NewTask
from storecrawl.catalog import Comparison, StoredPayload, renormalize_store, stores_with_payloads
from storecrawl.catalog.normalize import Menu
from storecrawl.roles.crawler import STORE_KEY, Crawler, refresh_rules
from storecrawl.roles.stored_menus import read_stored_menu

ROLE = "product_refresh"
# A store with thousands of payloads takes some of it.
TIMEOUT = timedelta(hours=2)


def renormalize_task(
    *, since: datetime | None, store_id: int | None, dry_run: bool, platform: str | None = None
) -> NewTask:
    """Return the root of a renormalization: of one store, of a platform's stores, or of all."""
    payload = {"since": since and since.isoformat(), "store_id": store_id, "platform": platform, "dry_run": dry_run}
    return NewTask(handler="renormalize", payload=payload)


def add_renormalize(app: App, crawler: Crawler) -> None:
    """Register the handlers."""

    @app.task(role=ROLE, gather=_merge_reports)
    async def renormalize(
        ctx: Context,
        since: datetime | None = None,
        store_id: int | None = None,
        platform: str | None = None,
        *,
        dry_run: bool = False,
    ) -> None:
        """Renormalize one store, a platform or all: their payloads of all times, or of fetches since a moment."""
        async with ctx.transaction() as tx:
            stores = await stores_with_payloads(tx, store_id=store_id, platform=platform, since=since)
        ctx.spawn(
            *(
                renormalize_one.task(store_id=each, since=since, dry_run=dry_run).options(on_failure="ignore")
                for each in stores
            )
        )

    @app.task(role=ROLE, name="renormalize_store", key=STORE_KEY, timeout=TIMEOUT)
    async def renormalize_one(
        ctx: Context, store_id: int, since: datetime | None = None, *, dry_run: bool = False
    ) -> None:
        """Renormalize a store in one transaction, which a dry run rolls back."""

        async def read(payload: StoredPayload) -> Menu:
            return await read_stored_menu(ctx, crawler, payload)

        async def tell(done: int, payloads: int) -> None:
            ctx.check()
            await ctx.info({"done": done, "payloads": payloads})

        rules = refresh_rules(crawler.settings)
        async with ctx.transaction() as tx:
            async with tx.transaction(force_rollback=dry_run):
                found = await renormalize_store(tx, read, store_id, tell, since=since, rules=rules)
            await ctx.complete(tx, asdict(found))


async def _merge_reports(
    ctx: Context,
    since: datetime | None = None,
    store_id: int | None = None,
    platform: str | None = None,
    *,
    dry_run: bool = False,
) -> None:
    """Add the differences of all stores. Stores whose task has failed are counted."""
    children = await ctx.children()
    done = [child for child in children if child.state == "completed"]
    merged = Comparison()
    for child in done:
        merged.add(msgspec.convert(child.result, Comparison))
    asked = {"since": since, "store_id": store_id, "platform": platform, "dry_run": dry_run}
    async with ctx.transaction() as tx:
        await ctx.complete(tx, {**asked, "failed_stores": len(children) - len(done), **asdict(merged)})
