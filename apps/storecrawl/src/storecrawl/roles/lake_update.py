"""lake: bring the Parquet files of prices up to date, one task per platform, state and day."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from rolecall import App, Context, NewTask
from storecrawl.lake.days import LakeDay, files_before, forget_files, marked_days, remove_marks_before
from storecrawl.payloads.opened import storage_errors_as_payload_errors
from storecrawl.roles.crawler import LAKE_ROLE, Crawler
from storecrawl.roles.store_tasks import database_time
from storecrawl.storage import Storage, old_objects
from storecrawl.storage.folder import HIDDEN_PREFIX

# A writer that is still at work has changed its temporary file since then.
LEFTOVER_AGE = timedelta(days=1)
# Histories are kept for whole months, which are rarely shorter.
SHORT_MONTH = timedelta(days=30)


def add_lake_update(app: App, crawler: Crawler) -> None:
    """Register the handlers."""

    @app.task(role=LAKE_ROLE)
    async def lake_update(ctx: Context) -> None:
        """Write each marked day as a child, and remove files of days that are too old."""
        removed = await _remove_old(ctx, crawler)
        async with ctx.transaction() as tx:
            if months := crawler.settings.history_months:
                # The database may have lost rows of earlier days, which their files still have.
                await remove_marks_before(tx, (await database_time(tx)).date() - months * SHORT_MONTH)
            days = await marked_days(tx)
            ctx.spawn(*(_writing(day) for day in days))
            await ctx.complete(tx, {"days": len(days), "removed": removed})

    @app.task(role=LAKE_ROLE)
    async def write_lake_day(ctx: Context, platform: str, state: str, day: date) -> None:
        """Replace the file of a day; a second run writes the same rows.

        If the database has lost history of the day, the present file stays.
        """
        # It imports pyarrow, which other roles do not need.
        from storecrawl.lake.writing import write_day  # noqa: PLC0415

        place = LakeDay(platform=platform, state=state, day=day)
        with storage_errors_as_payload_errors():
            async with ctx.transaction() as tx:
                written = await write_day(tx, crawler.lake_files, place)
                await ctx.complete(tx, {"rows": written.rows, "bytes": written.size, "kept": written.lost_history})


def _writing(day: LakeDay) -> NewTask:
    payload = {"platform": day.platform, "state": day.state, "day": day.day.isoformat()}
    return NewTask(handler="write_lake_day", payload=payload)


async def _remove_old(ctx: Context, crawler: Crawler) -> int:
    with storage_errors_as_payload_errors():
        await crawler.run_in_thread(_remove_leftovers, crawler.lake_files)
    if crawler.settings.lake_keep_days is None:
        return 0
    async with ctx.transaction() as tx:
        before = (await database_time(tx)).date() - timedelta(days=crawler.settings.lake_keep_days)
        await remove_marks_before(tx, before)
        paths = await files_before(tx, before)
    # A file without a record would stay forever.
    for path in paths:
        ctx.check()
        with storage_errors_as_payload_errors():
            await crawler.run_in_thread(crawler.lake_files.delete, path)
    async with ctx.transaction() as tx:
        await forget_files(tx, paths)
    return len(paths)


def _remove_leftovers(storage: Storage) -> None:
    """Remove the temporary files of killed writers, which only a folder has."""
    for paths in old_objects(storage, _is_leftover, datetime.now(UTC) - LEFTOVER_AGE):
        for path in paths:
            storage.delete(path)


def _is_leftover(name: str) -> bool:
    return name.startswith(HIDDEN_PREFIX)
