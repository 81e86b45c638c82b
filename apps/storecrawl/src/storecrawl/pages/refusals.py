"""Refusals: of one payload, of a store, or all, the newest first."""

from __future__ import annotations

from fastapi import Response

from rolecall.web import (
    Connects,
    Pages,
    Reading,
    page_by_id,
    position,
)
from storecrawl.catalog import list_refusals, store_names
from storecrawl.pages.query import ChosenId, Cursor, address_builder
from storecrawl.serving.lookup import payload_of, store_of

router = Pages()

REFUSALS = 50


@router.get("/refusals")
async def list_all(
    view: Reading, connects: Connects, payload: ChosenId = None, store: ChosenId = None, cursor: Cursor = None
) -> Response:
    """Show refusals with their reasons."""
    chosen = await payload_of(connects, payload) if payload else None
    of_store = await store_of(connects, store) if store else None
    before = position(cursor)
    async with connects() as connection:
        found = await list_refusals(connection, store_id=store, payload_id=payload, before=before, limit=REFUSALS + 1)
        page = page_by_id(found, REFUSALS)
        names = await store_names(connection, [each.store_id for each in page.items])
    return view.page(
        "storecrawl/refusals/list.html",
        payload=chosen,
        store=of_store,
        refusals=page.items,
        names=names,
        next_cursor=page.next_cursor,
        cursor=cursor,
        again=address_builder(view),
    )
