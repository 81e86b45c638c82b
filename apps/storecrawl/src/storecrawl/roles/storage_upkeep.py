"""storage_upkeep: remove files without a row, and files and history past their retention."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

import psycopg

from rolecall import App, Context, PermanentFailure
from storecrawl.catalog import Retention, expirable_payloads, keep_months, mark_expired, without_image, without_row
from storecrawl.images import ImageStore
from storecrawl.payloads import PayloadStore
from storecrawl.roles.crawler import Crawler
from storecrawl.roles.store_tasks import database_time
from storecrawl.settings import CrawlSettings

Files = PayloadStore | ImageStore
Without = Callable[[psycopg.AsyncConnection[Any], Sequence[str]], Awaitable[list[str]]]

ROLE = "storage_upkeep"
BATCH = 1_000
# Crashes leave at most this many orphans. If there are more and most files are orphans, the folder or the database is
# wrong.
FEWEST_DOUBTFUL = 20


def add_storage_upkeep(app: App, crawler: Crawler) -> None:
    """Register the handlers."""

    @app.task(role=ROLE)
    async def orphan_sweep(ctx: Context, *, even_most: bool = False) -> dict[str, int]:
        """Remove files without a row that are old enough: those left by crashes, and replaced ones.

        If most of the files would be removed, it fails and removes nothing, unless forced.
        """
        payloads = await _orphans(ctx, crawler, crawler.payloads, without_row, even_most=even_most)
        images = await _orphans(ctx, crawler, crawler.image_files, without_image, even_most=even_most)
        await _remove(ctx, crawler, crawler.payloads, payloads)
        await _remove(ctx, crawler, crawler.image_files, images)
        return {"removed": len(payloads) + len(images)}

    @app.task(role=ROLE)
    async def payload_expiry(ctx: Context) -> dict[str, int]:
        """Remove payload files according to the retention policy; their rows stay and record the time."""
        retention = await _retention(ctx, crawler.settings)
        if retention is None:
            return {"expired": 0}
        expired, after = 0, 0
        while True:
            ctx.check()
            async with ctx.transaction() as tx:
                found, last = await expirable_payloads(tx, retention, after=after)
            # The file is removed first: if its row were marked too early, the file could stay forever.
            await crawler.run_in_thread(crawler.payloads.remove, [path for each in found for path in each.paths])
            async with ctx.transaction() as tx:
                expired += await mark_expired(tx, [each.id for each in found])
            if last is None:
                return {"expired": expired}
            after = last

    @app.task(role=ROLE)
    async def history_upkeep(ctx: Context) -> dict[str, int]:
        """Create the next partitions of the histories, and drop the months that are not kept."""
        async with ctx.transaction() as tx:
            partitions = await keep_months(tx, crawler.settings.history_months)
            await ctx.complete(tx, {"partitions": partitions})
        return {"partitions": partitions}


async def _orphans(ctx: Context, crawler: Crawler, files: Files, without: Without, *, even_most: bool) -> list[str]:
    orphans: list[str] = []
    looked_at, batches = 0, files.old_files(timedelta(seconds=crawler.settings.orphan_age))
    while (batch := await crawler.run_in_thread(_next, batches)) is not None:
        ctx.check()
        async with ctx.transaction() as tx:
            orphans += await without(tx, batch)
        looked_at += len(batch)
    if len(orphans) > max(FEWEST_DOUBTFUL, looked_at / 2) and not even_most:
        raise PermanentFailure(
            f"{len(orphans)} of {looked_at} files have no row in this database. Is it the wrong folder or bucket?"
            ' Nothing was removed; to remove all of them, enqueue orphan_sweep with {"even_most": true}'
        )
    return orphans


async def _remove(ctx: Context, crawler: Crawler, files: Files, paths: list[str]) -> None:
    for first in range(0, len(paths), BATCH):
        ctx.check()
        await crawler.run_in_thread(files.remove, paths[first : first + BATCH])


def _next(batches: Iterator[list[str]]) -> list[str] | None:
    return next(batches, None)


async def _retention(ctx: Context, settings: CrawlSettings) -> Retention | None:
    if settings.keep_days is None and settings.keep_last is None:
        return None
    async with ctx.transaction() as tx:
        now = await database_time(tx)
    before = None if settings.keep_days is None else now - timedelta(days=settings.keep_days)
    return Retention(before=before, newest=settings.keep_last or 0)
