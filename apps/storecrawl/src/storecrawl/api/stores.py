"""Stores over HTTP."""

from __future__ import annotations

from fastapi import APIRouter

from rolecall.web import Connects, Limit, Page, PathId, Reads, read_cursor, refuses, write_cursor
from storecrawl.catalog import CategoryFigures, Store, list_stores, store_categories
from storecrawl.serving.finding import store_of
from storecrawl.serving.parameters import Cursor, SearchText, State

router = APIRouter(prefix="/api/stores", tags=["stores"])


@router.get("")
async def list_all(
    connects: Connects,
    _: Reads,
    state: State = None,
    text: SearchText = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[Store]:
    """Stores by id; `text` is looked for in name, slug, chain and city."""
    after = read_cursor(cursor) if cursor else 0
    async with connects() as connection:
        stores = await list_stores(connection, state=state and state.upper(), text=text, after=after, limit=limit)
    return Page(items=stores, next_cursor=write_cursor(stores[-1].id) if len(stores) == limit else None)


@router.get("/{store_id:int}", responses=refuses(404))
async def show(store_id: PathId, connects: Connects, _: Reads) -> Store:
    """One store."""
    return await store_of(connects, store_id)


@router.get("/{store_id:int}/categories", responses=refuses(404))
async def categories(store_id: PathId, connects: Connects, _: Reads) -> list[CategoryFigures]:
    """What a store has on its menu, by category, as of the last round; prices are cents."""
    store = await store_of(connects, store_id)
    async with connects() as connection:
        return await store_categories(connection, store.id)
