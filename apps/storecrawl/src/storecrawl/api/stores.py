"""Stores over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from rolecall.web import Connects, Limit, Page, PathId, Reads, agreed, page_by_id, position, refuses
from storecrawl.catalog import CategoryFigures, Store, StoreFilter, list_stores, store_categories
from storecrawl.serving.lookup import store_of
from storecrawl.serving.parameters import Cursor, OnlyPlatform, SearchText, State

OnlyBlocked = Annotated[bool, Query(description="Only stores whose menu the upstream refuses.")]
OnlyDark = Annotated[bool, Query(description="Only stores without a menu for some rounds.")]

router = APIRouter(prefix="/api/stores", tags=["stores"])


@router.get("")
async def list_all(  # sizes: the filters of the list
    connects: Connects,
    _: Reads,
    state: State = None,
    state_code: State = None,
    text: SearchText = None,
    platform: OnlyPlatform = None,
    blocked: OnlyBlocked = False,  # noqa: FBT002 - a query has no positions
    dark: OnlyDark = False,  # noqa: FBT002 - a query has no positions
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[Store]:
    """Return stores by id; `text` matches name, slug, chain and city."""
    after = position(cursor) or 0
    state_filter = agreed("state", state, "state_code", state_code)
    criteria = StoreFilter(
        state=state_filter, platform=platform, text=text, blocked=blocked, dark=dark, after=after, limit=limit + 1
    )
    async with connects() as connection:
        stores = await list_stores(connection, criteria)
    return page_by_id(stores, limit)


@router.get("/{store_id:int}", responses=refuses(404))
async def show(store_id: PathId, connects: Connects, _: Reads) -> Store:
    """Return a store."""
    return await store_of(connects, store_id)


@router.get("/{store_id:int}/categories", responses=refuses(404))
async def categories(store_id: PathId, connects: Connects, _: Reads) -> list[CategoryFigures]:
    """Return a store's totals by category as of the last round; prices are in cents."""
    store = await store_of(connects, store_id)
    async with connects() as connection:
        return await store_categories(connection, store.id)
