"""The changes between two crawl payloads of a store: products, prices and stocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from fastapi import Query, Response

from rolecall.web import Connections, Connects, Pages, Reading, RequestRefused
from storecrawl.catalog import (
    FieldChange,
    MenuDiff,
    ProductChange,
    StoredPayload,
    find_payload,
    known_products,
    payloads_to_compare,
)
from storecrawl.pages.menus import HasMenus
from storecrawl.pages.query import ChosenId, address_builder
from storecrawl.serving.lookup import store_of
from storecrawl.serving.refusals import catalog_errors_as_problems

router = Pages()

Kind = Literal["price", "stock", "added", "removed"]
FIRST_ONES: Final = 8
A_PAGE: Final = 50
FIELDS: Final = {
    "price_rec_cents": "price",
    "price_med_cents": "medical price",
    "special_rec_cents": "special",
    "special_med_cents": "medical special",
    "in_stock": "availability",
    "quantity": "quantity",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The changes of one kind: their number, and those on the page."""

    kind: Kind
    count: int
    shown: tuple[FieldChange, ...] | tuple[ProductChange, ...]


@router.get("/payloads/diff")
async def compare(  # sizes: the filters of the page
    view: Reading,
    connects: Connects,
    menus: HasMenus,
    a: ChosenId = None,
    b: ChosenId = None,
    store: ChosenId = None,
    kind: Kind | None = None,
    page: Annotated[int, Query(ge=1, le=100_000)] = 1,
) -> Response:
    """Show the changes from payload `a` (by default its predecessor) to `b` (by default the latest)."""
    earlier, later = await _pair(connects, a, b, store)
    parts = _parts(await menus.diff(earlier, later), kind, page)
    named = {change.external_id for part in parts for change in part.shown}
    async with connects() as connection:
        products = await known_products(connection, later.store_id, named)
    return view.page(
        "storecrawl/diff/show.html",
        store=await store_of(connects, later.store_id),
        pair=(earlier, later),
        parts=parts,
        products=products,
        fields=FIELDS,
        kind=kind,
        page=page,
        a_page=A_PAGE,
        again=address_builder(view),
    )


async def _pair(
    connects: Connections, a: int | None, b: int | None, store: int | None
) -> tuple[StoredPayload, StoredPayload]:
    with catalog_errors_as_problems():
        async with connects() as connection:
            if a or b:
                store = (await find_payload(connection, b or a or 0)).store_id
            if store is None:
                raise RequestRefused(
                    "give two payloads (?a=12&b=40) or a store (?store=7)", status=422, kind="invalid-request"
                )
            return await payloads_to_compare(connection, store, a, b)


def _parts(diff: MenuDiff, kind: Kind | None, page: int) -> list[Part]:
    whole: dict[Kind, tuple[FieldChange, ...] | tuple[ProductChange, ...]] = {
        "price": diff.price_changes,
        "stock": diff.stock_changes,
        "added": diff.added,
        "removed": diff.removed,
    }
    first, last = (0, FIRST_ONES) if kind is None else ((page - 1) * A_PAGE, page * A_PAGE)
    return [
        Part(kind=each, count=len(changes), shown=changes[first:last] if kind in {None, each} else ())
        for each, changes in whole.items()
    ]
