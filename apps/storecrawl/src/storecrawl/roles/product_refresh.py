"""product_refresh: turn a stored payload into products, variants and history, without calling the upstream."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import psycopg

from rolecall import App, Context, PermanentFailure
from storecrawl.catalog import (
    CatalogError,
    HeldMenu,
    RefreshReport,
    StoredPayload,
    apply_menu,
    find_payload,
    hold_menu,
    note_images,
    record_refusals,
    repeat_menu,
)
from storecrawl.catalog.normalize import Menu, NotAMenu
from storecrawl.payloads import PayloadError, PayloadUnreachable
from storecrawl.roles.crawler import STORE_KEY, Crawler, refresh_rules
from storecrawl.roles.image_fetch import image_task
from storecrawl.roles.stored_menus import read_stored_menu

Connection = psycopg.AsyncConnection[Any]


def add_product_refresh(app: App, crawler: Crawler) -> None:
    """Register the handler."""
    rules = refresh_rules(crawler.settings)

    @app.task(role="product_refresh", key=STORE_KEY)
    async def product_refresh(ctx: Context, payload_id: int, store_id: int | None = None) -> None:
        """Apply a payload to the catalog. A second run, or the replay of an older payload, undoes nothing.

        A menu that lost most of its products or values is held: it fails, and changes nothing else.

        A payload with the same document as the store's last applied one is not read. Most menus are fetched
        more often than they change.

        A task without the payload's store continues as one with it, which has the store's key.
        """
        with _permanent_failures():
            payload = await _payload_row(ctx, payload_id)
            if store_id is None:
                ctx.continue_with(product_refresh.task(payload_id=payload_id, store_id=payload.store_id))
                return
            if store_id != payload.store_id:
                raise PermanentFailure(f"payload {payload_id} belongs to store {payload.store_id}, not {store_id}")
            async with ctx.transaction() as tx:
                if report := await repeat_menu(tx, payload, rules=rules):
                    await _complete(ctx, tx, crawler, payload, report)
                    return
            menu = await _menu(ctx, crawler, payload)
            try:
                async with ctx.transaction() as tx:
                    report = await apply_menu(tx, payload.id, payload.store_id, payload.fetched_at, menu, rules=rules)
                    await _complete(ctx, tx, crawler, payload, report)
            except HeldMenu as problem:
                async with ctx.transaction() as tx:
                    await hold_menu(tx, payload.id, menu, problem)
                raise


@contextmanager
def _permanent_failures() -> Iterator[None]:
    """Fail permanently if the payload is bad; an unavailable storage is waited for."""
    try:
        yield
    except PayloadUnreachable:
        raise
    except (NotAMenu, PayloadError, CatalogError) as problem:
        raise PermanentFailure(f"{type(problem).__name__}: {problem}") from problem


async def _menu(ctx: Context, crawler: Crawler, payload: StoredPayload) -> Menu:
    """Read the menu; refusals are recorded even if the document is not a menu."""
    try:
        return await read_stored_menu(ctx, crawler, payload)
    except NotAMenu as problem:
        async with ctx.transaction() as tx:
            await record_refusals(tx, payload.id, payload.store_id, problem.refused, products=problem.record_count)
        raise


async def _complete(
    ctx: Context, tx: Connection, crawler: Crawler, payload: StoredPayload, report: RefreshReport
) -> None:
    if crawler.settings.images and await note_images(tx, payload.store_id):
        ctx.follow_up(image_task(payload.store_id))
    await ctx.complete(tx, asdict(report))


async def _payload_row(ctx: Context, payload_id: int) -> StoredPayload:
    async with ctx.transaction() as tx:
        return await find_payload(tx, payload_id)
