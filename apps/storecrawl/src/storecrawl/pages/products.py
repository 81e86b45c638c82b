"""Products: a search by name, brand and store, and one product with its prices and availability over time."""

from __future__ import annotations

from fastapi import Response

from rolecall.web import Connects, Pages, PathId, Reading, position, write_cursor
from storecrawl.catalog import (
    ProductFilter,
    find_product,
    list_products,
    product_details,
    product_variants,
)
from storecrawl.catalog.normalize import NO_DETAILS, Availability
from storecrawl.catalog.product_history import HistoryFilter, captured_history
from storecrawl.pages.plots import availability_spans, price_plot, quantity_plot
from storecrawl.pages.query import ChosenAvailability, ChosenId, Cursor, SearchedText, address_builder
from storecrawl.serving.lookup import store_of
from storecrawl.serving.refusals import catalog_errors_as_problems

router = Pages()

# The number of newest snapshots in the table; the plots show all that were read.
LISTED = 25
MOST_SHOWN = 200


@router.get("/products")
async def list_all(  # sizes: the filters of the list
    view: Reading,
    connects: Connects,
    text: SearchedText = None,
    store: ChosenId = None,
    availability: ChosenAvailability = None,
    cursor: Cursor = None,
) -> Response:
    """Show products by name; `text` matches product, brand and store names."""
    criteria = ProductFilter(store_id=store, text=text, availability=availability, after=position(cursor))
    chosen = await store_of(connects, store) if store else None
    async with connects() as connection:
        found = await list_products(connection, criteria)
    return view.page(
        "storecrawl/products/list.html",
        products=found.items,
        store=chosen,
        availabilities=list(Availability),
        chosen={"text": text or "", "availability": availability or ""},
        next_cursor=write_cursor(found.reached) if found.reached else None,
        cursor=cursor,
        again=address_builder(view),
    )


@router.get("/products/{product_id:int}")
async def show(product_id: PathId, view: Reading, connects: Connects) -> Response:
    """Show a product and its history."""
    with catalog_errors_as_problems():
        async with connects() as connection:
            product = await find_product(connection, product_id)
            variants = await product_variants(connection, product_id)
            details = await product_details(connection, product_id)
            newest_first = await captured_history(connection, product_id, HistoryFilter(limit=MOST_SHOWN))
    history = newest_first[::-1]
    return view.page(
        "storecrawl/products/show.html",
        product=product,
        details=details,
        tells_more=details != NO_DETAILS,
        variants=variants,
        prices=price_plot(history),
        quantities=quantity_plot(history),
        spans=availability_spans(history),
        snapshots=newest_first[:LISTED],
        known_snapshots=len(history),
    )
