"""Refusals over HTTP: of a crawl payload, or of all payloads of a store."""

from __future__ import annotations

from fastapi import APIRouter

from rolecall.web import Connections, Connects, Limit, Page, PathId, Reads, page_by_id, position, refuses
from storecrawl.catalog import StoredRefusal, list_refusals
from storecrawl.serving.lookup import payload_of, store_of
from storecrawl.serving.parameters import Cursor

router = APIRouter(prefix="/api/payloads", tags=["crawl payloads"])


@router.get("/{payload_id:int}/refusals", responses=refuses(404))
async def of_payload(
    payload_id: PathId, connects: Connects, _: Reads, cursor: Cursor = None, limit: Limit = 50
) -> Page[StoredRefusal]:
    """Return the products, and options of other products, that were unusable when a crawl payload was last applied."""
    await payload_of(connects, payload_id)
    return await _page(connects, cursor, limit, payload_id=payload_id)


@router.get("/store/{store_id:int}/refusals", responses=refuses(404))
async def of_store(
    store_id: PathId, connects: Connects, _: Reads, cursor: Cursor = None, limit: Limit = 50
) -> Page[StoredRefusal]:
    """Return the refusals of all crawl payloads of a store, the newest first."""
    await store_of(connects, store_id)
    return await _page(connects, cursor, limit, store_id=store_id)


async def _page(connects: Connections, cursor: str | None, limit: int, **selection: int) -> Page[StoredRefusal]:
    before = position(cursor)
    async with connects() as connection:
        found = await list_refusals(connection, **selection, before=before, limit=limit + 1)
    return page_by_id(found, limit)
