"""Raw menus: the unchanged responses of a fetch, and the reason why there is no payload."""

from __future__ import annotations

from fastapi import Response

from rolecall.web import Connects, Pages, PathId, Reading, RequestRefused
from storecrawl.pages.menus import HasMenus
from storecrawl.serving.lookup import raw_menu_of, store_of
from storecrawl.serving.resources import RawPageFacts, raw_pages

router = Pages()


@router.get("/raw-menus/{raw_menu_id:int}")
async def show(raw_menu_id: PathId, view: Reading, connects: Connects, menus: HasMenus) -> Response:
    """Show a raw menu's metadata and each of its responses."""
    raw = await raw_menu_of(connects, raw_menu_id)
    store = await store_of(connects, raw.store_id)
    answers: list[RawPageFacts] = []
    problem = None
    try:
        answers = await raw_pages(menus.resources, raw)
    except RequestRefused as refused:
        problem = refused.detail
    return view.page("storecrawl/raw_menus/show.html", raw=raw, store=store, answers=answers, problem=problem)
