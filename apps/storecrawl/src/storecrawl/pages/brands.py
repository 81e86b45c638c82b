"""Brands: the list with totals over all menus, and one brand with its stores."""

from __future__ import annotations

from fastapi import Response

from rolecall.web import Connects, Pages, PathId, Reading, page_by_id, position
from storecrawl.catalog import BrandOrder, find_brand, list_brands, stores_of_brand
from storecrawl.pages.query import ChosenBrandOrder, Cursor, SearchedText, address_builder
from storecrawl.serving.refusals import catalog_errors_as_problems

router = Pages()

BRANDS = 50


@router.get("/brands")
async def list_all(
    view: Reading,
    connects: Connects,
    text: SearchedText = None,
    sort: ChosenBrandOrder = None,
    cursor: Cursor = None,
) -> Response:
    """Show brands, by default the most products first; `text` matches the name."""
    order = sort or BrandOrder.PRODUCTS
    after = position(cursor)
    async with connects() as connection:
        found = await list_brands(connection, order=order, text=text, after=after, limit=BRANDS + 1)
    page = page_by_id(found, BRANDS)
    return view.page(
        "storecrawl/brands/list.html",
        brands=page.items,
        orders=[each for each in BrandOrder if each != BrandOrder.PRODUCTS],
        chosen={"text": text or "", "sort": sort or ""},
        next_cursor=page.next_cursor,
        cursor=cursor,
        again=address_builder(view),
    )


@router.get("/brands/{brand_id:int}")
async def show(brand_id: PathId, view: Reading, connects: Connects) -> Response:
    """Show a brand: its totals, and the stores with most of its products."""
    with catalog_errors_as_problems():
        async with connects() as connection:
            brand = await find_brand(connection, brand_id)
            stores = await stores_of_brand(connection, brand_id)
    return view.page("storecrawl/brands/show.html", brand=brand, stores=stores)
