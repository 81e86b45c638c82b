"""Brands over HTTP, with their totals over all menus."""

from __future__ import annotations

from fastapi import APIRouter

from rolecall.web import Connects, Limit, Page, PathId, Reads, page_by_id, position, refuses
from storecrawl.catalog import Brand, BrandOrder, find_brand, list_brands
from storecrawl.serving.parameters import Cursor, SearchText
from storecrawl.serving.refusals import catalog_errors_as_problems

router = APIRouter(prefix="/api/brands", tags=["brands"])


@router.get("")
async def list_all(  # sizes: the filters of the list
    connects: Connects,
    _: Reads,
    text: SearchText = None,
    sort: BrandOrder = BrandOrder.NAME,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[Brand]:
    """Return brands by name, or the most products first; `text` matches the name. Prices are in cents."""
    after = position(cursor)
    async with connects() as connection:
        brands = await list_brands(connection, order=sort, text=text, after=after, limit=limit + 1)
    return page_by_id(brands, limit)


@router.get("/{brand_id:int}", responses=refuses(404))
async def show(brand_id: PathId, connects: Connects, _: Reads) -> Brand:
    """Return a brand, with its totals as of the last round."""
    with catalog_errors_as_problems():
        async with connects() as connection:
            return await find_brand(connection, brand_id)
