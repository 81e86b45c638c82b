"""The web pages of menus, which lead to a renamed store in the four ways of real ones."""

from __future__ import annotations

import html

import msgspec
from starlette.responses import HTMLResponse, RedirectResponse, Response

from storecrawl.demo.upstream.stores import WorldStore
from storecrawl.demo.upstream.world import World

MENU_PATHS = ("/dispensary/{name}", "/embedded-menu/{name}", "/stores/{name}")
FOREIGN_SHOP = "http://shop.storecrawl.invalid"
NO_MENU = "<!doctype html><title>Not found</title><h1>There is no such menu</h1>"


def menu_page(world: World, name: str, root: str) -> Response:
    """Return the web page of a store's menu; `root` is this server's address."""
    store = world.store_at(name)
    if store is None:
        former = world.former_store(name)
        return HTMLResponse(NO_MENU, 404) if former is None else _redirect(former, root)
    if name != store.slug:
        return RedirectResponse(_address(store, root), 302)
    return HTMLResponse(_page(store, canonical=_address(store, root), data=True))


def _redirect(store: WorldStore, root: str) -> Response:
    match store.number % 4:
        case 0:
            return RedirectResponse(_address(store, root), 301)
        case 1:
            return HTMLResponse(_page(store, canonical=_address(store, root), data=False))
        case 2:
            return HTMLResponse(_page(store, canonical=None, data=True))
        case _:
            return RedirectResponse(f"{FOREIGN_SHOP}/stores/{store.slug}", 301)


def _address(store: WorldStore, root: str) -> str:
    return f"{root}/dispensary/{store.slug}"


def _page(store: WorldStore, *, canonical: str | None, data: bool) -> str:
    link = "" if canonical is None else f'<link rel="canonical" href="{html.escape(canonical)}">'
    return f"<!doctype html><title>{html.escape(store.name)}</title>{link}{_data(store) if data else ''}"


def _data(store: WorldStore) -> str:
    shown = {"id": store.id, "cName": store.slug, "name": store.name}
    text = msgspec.json.encode({"props": {"pageProps": {"dispensary": shown}}}).decode().replace("<", "\\u003c")
    return f'<script id="__NEXT_DATA__" type="application/json">{text}</script>'
