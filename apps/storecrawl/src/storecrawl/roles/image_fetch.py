"""image_fetch: keep copies of the images of a store's products."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg

from rolecall import App, Context, NewTask
from storecrawl.catalog import DueImage, StoredImage, due_images, postpone_image, store_image
from storecrawl.egress import HeldBack
from storecrawl.images import ImagePlace, ImageRefused, ImageUnavailable, suffix_of
from storecrawl.roles.crawler import Crawler

Connection = psycopg.AsyncConnection[Any]

AT_ONCE = 8
MOST_TRIES = 5
FIRST_AGAIN = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class _FailedImage:
    due: DueImage
    problem: str
    is_permanent: bool


_Outcome = StoredImage | _FailedImage | HeldBack


def add_image_fetch(app: App, crawler: Crawler) -> None:
    """Register the handler."""

    @app.task(role="image_fetch", key="images:{store_id}")
    async def image_fetch(ctx: Context, store_id: int) -> dict[str, int]:
        """Fetch a store's due images, several at once. A failed image does not fail the task."""
        counts = {"kept": 0, "failed": 0}
        while True:
            ctx.check()
            async with ctx.transaction() as tx:
                due = await due_images(tx, store_id, limit=AT_ONCE)
            if not due:
                return counts
            outcomes = await asyncio.gather(*(_fetch(crawler, each) for each in due))
            async with ctx.transaction() as tx:
                for outcome in outcomes:
                    await _record(tx, outcome, counts)
            held_back = [outcome for outcome in outcomes if isinstance(outcome, HeldBack)]
            if held_back:
                raise held_back[0]


def image_task(store_id: int) -> NewTask:
    """Return the task that fetches a store's images; an open one is kept."""
    return NewTask(handler="image_fetch", payload={"store_id": store_id}, dedupe_key=f"images:{store_id}")


async def _fetch(crawler: Crawler, due: DueImage) -> _Outcome:
    try:
        content = await crawler.images.fetch(due.url)
        return await crawler.run_in_thread(_store, crawler, due, content)
    except HeldBack as held_back:
        return held_back
    except (ImageRefused, ImageUnavailable) as error:
        is_permanent = isinstance(error, ImageRefused) or due.tries + 1 >= MOST_TRIES
        return _FailedImage(due=due, problem=str(error), is_permanent=is_permanent)


def _store(crawler: Crawler, due: DueImage, content: bytes) -> StoredImage:
    suffix = suffix_of(content)
    place = ImagePlace(
        state=due.state,
        store_id=due.store_id,
        store_name=due.store_name,
        brand=due.brand,
        product_id=due.product_id,
        product_name=due.product_name,
    )
    path, sha256 = crawler.image_files.write(place, content, suffix)
    return StoredImage(id=due.id, path=path, sha256=sha256, size=len(content))


async def _record(tx: Connection, outcome: _Outcome, counts: dict[str, int]) -> None:
    match outcome:
        case StoredImage():
            counts["kept"] += 1
            await store_image(tx, outcome)
        case _FailedImage():
            counts["failed"] += 1
            tries = outcome.due.tries + 1
            later = None if outcome.is_permanent else FIRST_AGAIN * 4 ** (tries - 1)
            await postpone_image(tx, outcome.due.id, tries=tries, problem=outcome.problem, again=later)
