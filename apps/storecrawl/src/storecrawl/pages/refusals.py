"""What was refused: of one payload, of a store's, or of all, the newest first."""

from __future__ import annotations

from fastapi import Response

from rolecall.web import Connects, Pages, Reading, read_cursor, write_cursor
from storecrawl.catalog import list_refusals, store_names
from storecrawl.pages.asking import ChosenId, Cursor, asked_again
from storecrawl.serving.finding import payload_of, store_of

router = Pages()

REFUSALS = 50


@router.get("/refusals")
async def list_all(
    view: Reading, connects: Connects, payload: ChosenId = None, store: ChosenId = None, cursor: Cursor = None
) -> Response:
    """Show what could not be used, with its reason."""
    chosen = await payload_of(connects, payload) if payload else None
    of_store = await store_of(connects, store) if store else None
    before = read_cursor(cursor) if cursor else None
    async with connects() as connection:
        found = await list_refusals(connection, store_id=store, payload_id=payload, before=before, limit=REFUSALS)
        names = await store_names(connection, [each.store_id for each in found])
    return view.page(
        "storecrawl/refusals/list.html",
        payload=chosen,
        store=of_store,
        refusals=found,
        names=names,
        next_cursor=write_cursor(found[-1].id) if len(found) == REFUSALS else None,
        cursor=cursor,
        again=asked_again(view),
    )
