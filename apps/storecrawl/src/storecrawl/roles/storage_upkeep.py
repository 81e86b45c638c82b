"""storage_upkeep: remove files without a row, and files and history past their retention."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import timedelta
from itertools import groupby
from operator import attrgetter
from typing import Any

import psycopg

from rolecall import App, Context, PermanentFailure
from storecrawl.catalog import (
    Retention,
    drop_changes,
    expirable_payloads,
    keep_months,
    mark_expired,
    without_image,
)
from storecrawl.catalog.stored_files import not_needed
from storecrawl.images import ImageStore
from storecrawl.payloads import PayloadStore, store_of_path
from storecrawl.roles.crawler import Crawler
from storecrawl.roles.file_removal import removal, remove_orphans
from storecrawl.roles.store_tasks import database_time
from storecrawl.settings import CrawlSettings

Files = PayloadStore | ImageStore
Without = Callable[[psycopg.AsyncConnection[Any], Sequence[str]], Awaitable[list[str]]]

ROLE = "storage_upkeep"
BATCH = 1_000
MOST_DAYS = 36_500
# Crashes leave at most this many orphans. If there are more and most files are orphans, the folder or the database is
# wrong.
FEWEST_DOUBTFUL = 20


def add_storage_upkeep(app: App, crawler: Crawler) -> None:
    """Register the handlers."""
    _add_change_expiry(app, timedelta(days=crawler.settings.keep_change_days))

    @app.task(role=ROLE)
    async def orphan_sweep(ctx: Context, *, even_most: bool = False) -> dict[str, int]:
        """Remove files that no row needs and that are old enough: those left by crashes, and replaced ones.

        If most of the files would be removed, it fails and removes nothing, unless forced.
        """
        payloads = await _orphans(ctx, crawler, crawler.payloads, not_needed, even_most=even_most)
        images = await _orphans(ctx, crawler, crawler.image_files, without_image, even_most=even_most)
        removed = await _remove_payloads(ctx, crawler, payloads)
        await _remove(ctx, crawler, crawler.image_files, images)
        return {"removed": removed + len(images)}

    @app.task(role=ROLE)
    async def payload_expiry(ctx: Context) -> dict[str, int]:
        """Give up payloads according to the retention policy; their rows stay and record the time.

        A file is removed with the last row that needs it.
        """
        retention = await _retention(ctx, crawler.settings)
        expired, after = 0, 0
        while True:
            ctx.check()
            async with ctx.transaction() as tx:
                found, last = await expirable_payloads(tx, retention, after=after)
            for store_id, payloads in groupby(found, attrgetter("store_id")):
                async with ctx.transaction() as tx, removal(tx, crawler, store_id):
                    expired += await mark_expired(tx, [each.id for each in payloads])
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


async def _remove_payloads(ctx: Context, crawler: Crawler, paths: list[str]) -> int:
    removed = 0
    for store_id, group in groupby(sorted(paths), store_of_path):
        ctx.check()
        async with ctx.transaction() as tx:
            removed += await remove_orphans(tx, crawler, store_id, list(group))
    return removed


def _add_change_expiry(app: App, keep: timedelta) -> None:
    @app.task(role=ROLE)
    async def change_expiry(ctx: Context) -> dict[str, int]:
        """Delete the changes that are older than the time for which they are kept."""
        dropped = 0
        while True:
            ctx.check()
            async with ctx.transaction() as tx:
                some = await drop_changes(tx, keep)
            if not some:
                return {"dropped": dropped}
            dropped += some


async def _remove(ctx: Context, crawler: Crawler, files: ImageStore, paths: list[str]) -> None:
    for first in range(0, len(paths), BATCH):
        ctx.check()
        await crawler.run_in_thread(files.remove, paths[first : first + BATCH])


def _next(batches: Iterator[list[str]]) -> list[str] | None:
    return next(batches, None)


async def _retention(ctx: Context, settings: CrawlSettings) -> Retention:
    async with ctx.transaction() as tx:
        now = await database_time(tx)
    return Retention(before=now - timedelta(days=min(settings.keep_days, MOST_DAYS)), newest=settings.keep_last)
