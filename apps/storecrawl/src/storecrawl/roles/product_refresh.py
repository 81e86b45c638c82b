"""product_refresh: turn a kept payload into products, variants and snapshots; never touches the upstream."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import psycopg

from rolecall import App, Context, PermanentFailure
from storecrawl.catalog import (
    CatalogError,
    RefreshReport,
    RefreshRules,
    StoredPayload,
    apply_menu,
    find_payload,
    note_images,
    packed_menu,
    read_document,
    record_refusals,
    repeat_menu,
    unpacked_menu,
)
from storecrawl.catalog.normalize import Menu, NotAMenu
from storecrawl.payloads import PayloadError, PayloadUnreachable
from storecrawl.roles.crawler import STORE_KEY, Crawler
from storecrawl.roles.image_fetch import image_task

Connection = psycopg.AsyncConnection[Any]

# A document of so many bytes is normalized within a second, whatever it says; to start a process takes as long.
SMALL = 1_000_000


def add_product_refresh(app: App, crawler: Crawler) -> None:
    """Define the handler."""
    rules = RefreshRules(miss_threshold=crawler.settings.miss_threshold)

    @app.task(role="product_refresh", key=STORE_KEY)
    async def product_refresh(ctx: Context, payload_id: int, store_id: int | None = None) -> None:
        """Bring a payload into the catalog; a second run, or an older payload's replay, takes nothing back.

        One that says what the store's last one did is not read: most menus are fetched more often than they change.

        Without the payload's store, it goes on as a task with it, which takes its turn with the store's others.
        """
        with _failing_for_good():
            payload = await _payload_row(ctx, payload_id)
            if store_id is None:
                ctx.continue_with(product_refresh.task(payload_id=payload_id, store_id=payload.store_id))
                return
            if store_id != payload.store_id:
                raise PermanentFailure(f"payload {payload_id} is of store {payload.store_id}, not {store_id}")
            async with ctx.transaction() as tx:
                if report := await repeat_menu(tx, payload, rules=rules):
                    await _complete(ctx, tx, crawler, payload, report)
                    return
            menu = await _menu(ctx, crawler, payload)
            async with ctx.transaction() as tx:
                report = await apply_menu(tx, payload.id, payload.store_id, payload.fetched_at, menu, rules=rules)
                await _complete(ctx, tx, crawler, payload, report)


@contextmanager
def _failing_for_good() -> Iterator[None]:
    """What is wrong with a payload stays wrong however often it is read; a place that is out of reach comes back."""
    try:
        yield
    except PayloadUnreachable:
        raise
    except (NotAMenu, PayloadError, CatalogError) as problem:
        raise PermanentFailure(f"{type(problem).__name__}: {problem}") from problem


async def _menu(ctx: Context, crawler: Crawler, payload: StoredPayload) -> Menu:
    """Read the menu; of a document that is none, what was refused of it is entered all the same.

    Strangers wrote it: what may take long is normalized where the task's timeout can kill it.
    """
    document = await crawler.in_thread(read_document, crawler.payloads, payload)
    if len(document) <= SMALL:
        read = await crawler.in_thread(packed_menu, document)
    else:
        read = await ctx.in_process(packed_menu, document)
    if isinstance(read, NotAMenu):
        async with ctx.transaction() as tx:
            await record_refusals(tx, payload.id, payload.store_id, read.refused, products=read.record_count)
        raise read
    return await crawler.in_thread(unpacked_menu, read)


async def _complete(
    ctx: Context, tx: Connection, crawler: Crawler, payload: StoredPayload, report: RefreshReport
) -> None:
    if crawler.settings.images and await note_images(tx, payload.store_id):
        ctx.follow_up(image_task(payload.store_id))
    await ctx.complete(tx, asdict(report))


async def _payload_row(ctx: Context, payload_id: int) -> StoredPayload:
    async with ctx.transaction() as tx:
        return await find_payload(tx, payload_id)
