"""Products and categories of all stores over HTTP."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AfterValidator

from rolecall.web import (
    Connects,
    Limit,
    Page,
    PathId,
    Reads,
    RequestRefused,
    page_by_id,
    position,
    refuses,
    write_cursor,
)
from storecrawl.catalog import (
    FoundProduct,
    ProductRecord,
    VariantRecord,
    find_product,
    product_details,
    product_variants,
)
from storecrawl.catalog.normalize import Details
from storecrawl.catalog.product_history import CapturedProduct, HistoryFilter, captured_history
from storecrawl.catalog.product_search import (
    CategoryTotals,
    ProductOrder,
    ProductSearch,
    category_totals,
    search_products,
)
from storecrawl.serving.parameters import Cursor, OnlyPlatform, QueryId, QueryTime, SearchText, State, plain_text
from storecrawl.serving.refusals import catalog_errors_as_problems

router = APIRouter(tags=["products"])

Name = Annotated[str | None, Query(min_length=1, max_length=200), AfterValidator(plain_text)]
Flag = Annotated[bool | None, Query()]
Cents = Annotated[int | None, Query(ge=0, le=2_147_483_647)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownProduct(ProductRecord):
    """A product with its options, the current ones first, and its details."""

    options: list[VariantRecord]
    details: Details


@router.get("/api/products", responses=refuses(422))
async def list_all(  # sizes: the filters of the list
    connects: Connects,
    _: Reads,
    store_id: QueryId = None,
    state: State = None,
    platform: OnlyPlatform = None,
    brand: Name = None,
    category: Name = None,
    text: SearchText = None,
    in_stock: Flag = None,
    on_special: Flag = None,
    lowest_cents: Cents = None,
    highest_cents: Cents = None,
    sort: ProductOrder = ProductOrder.NAME,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[FoundProduct]:
    """Return products by name, or those of a store or brand by price; `text` matches product and brand names.

    `lowest_cents` and `highest_cents` limit the lowest price of a product. A page can be short although there is a
    next one.
    """
    criteria = ProductSearch(
        store_id=store_id,
        state=state,
        platform=platform,
        brand=brand,
        category=category,
        text=text,
        in_stock=in_stock,
        on_special=on_special,
        lowest_cents=lowest_cents,
        highest_cents=highest_cents,
        order=sort,
        after=position(cursor),
        limit=limit,
    )
    if sort is not ProductOrder.NAME and not criteria.is_narrow:
        raise RequestRefused(f"sort={sort.value} needs store_id or brand", status=422, kind="invalid-request")
    async with connects() as connection:
        found = await search_products(connection, criteria)
    next_cursor = None if found.reached is None else write_cursor(found.reached)
    return Page(items=found.items, next_cursor=next_cursor)


@router.get("/api/products/{product_id:int}", responses=refuses(404))
async def show(product_id: PathId, connects: Connects, _: Reads) -> ShownProduct:
    """Return a product with its options and details; prices are in cents."""
    with catalog_errors_as_problems():
        async with connects() as connection:
            product = await find_product(connection, product_id)
            options = await product_variants(connection, product_id)
            details = await product_details(connection, product_id)
    return ShownProduct(**asdict(product), options=options, details=details)


@router.get("/api/products/{product_id:int}/history", responses=refuses(404))
async def history(  # sizes: the filters of the list
    product_id: PathId,
    connects: Connects,
    _: Reads,
    since: QueryTime = None,
    until: QueryTime = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[CapturedProduct]:
    """Return a product's availability, prices and stock in each crawl payload, the newest first.

    `since` and `until` (exclusive) limit the times of the fetches.
    """
    criteria = HistoryFilter(since=since, until=until, before=position(cursor), limit=limit + 1)
    with catalog_errors_as_problems():
        async with connects() as connection:
            await find_product(connection, product_id)
            captured = await captured_history(connection, product_id, criteria)
    return page_by_id(captured, limit, lambda each: each.sequence)


@router.get("/api/categories")
async def categories(connects: Connects, _: Reads, state: State = None) -> list[CategoryTotals]:
    """Return the totals of each category over all menus as of the last round, the most products first."""
    async with connects() as connection:
        return await category_totals(connection, state=state)
