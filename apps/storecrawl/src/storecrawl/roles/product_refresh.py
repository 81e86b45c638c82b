"""product_refresh: turn a kept payload into products, variants and snapshots; never touches the upstream."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import psycopg

from rolecall import App, Context, PermanentFailure
from storecrawl.catalog import CatalogError, StoredPayload, apply_menu, find_payload
from storecrawl.catalog.normalize import Menu, NotAMenu, normalize, parse_document
from storecrawl.crawler import Crawler
from storecrawl.payloads import PayloadError, PayloadStore


def add_product_refresh(app: App, crawler: Crawler) -> None:
    """Define the handler."""

    @app.task(role="product_refresh")
    async def product_refresh(ctx: Context, payload_id: int) -> None:
        """Bring a payload into the catalog; a second run, or an older payload's replay, takes nothing back."""
        with _failing_for_good():
            payload = await _payload_row(ctx, payload_id)
            menu = await crawler.in_thread(_menu_of, crawler.payloads, payload)
            async with ctx.transaction() as tx:
                report = await apply_menu(tx, payload.id, payload.store_id, payload.fetched_at, menu)
                await ctx.complete(tx, asdict(report))


@contextmanager
def _failing_for_good() -> Iterator[None]:
    """What is wrong with a payload stays wrong however often it is read."""
    try:
        yield
    except (NotAMenu, PayloadError, CatalogError) as problem:
        raise PermanentFailure(f"{type(problem).__name__}: {problem}") from problem


async def _payload_row(ctx: Context, payload_id: int) -> StoredPayload:
    tx: psycopg.AsyncConnection[Any]
    async with ctx.transaction() as tx:
        return await find_payload(tx, payload_id)


def _menu_of(payloads: PayloadStore, payload: StoredPayload) -> Menu:
    document = payloads.read(payload.storage_path, payload.sha256, payload.size_raw)
    return normalize(parse_document(document))
