"""A store with markup in every name."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from storecrawl.platforms.raw_pages import RawPage, write_raw_pages

CORPUS = """<script>window.hacked=1</script><img src=x onerror="window.hacked=1">'"{{7*7}}&amp;</textarea>"""
HOSTILE_ANSWER = write_raw_pages(
    [RawPage(part=CORPUS, number=0, status=200, content_type=CORPUS, body=CORPUS.encode())]
)
# Tags that would exist if names were not escaped.
MARKUP = ("<script>window", "<img src=x", "</textarea>")


async def hostile_paths(shop: Any, apply: Callable[..., Awaitable[int]], first_of: Callable[[str], int]) -> list[str]:
    """Insert the store; return every page that shows it."""
    store = shop.store(name=f"Store {CORPUS}", chain=CORPUS, city=CORPUS, slug=CORPUS, timezone=CORPUS)
    shop.route(host=CORPUS, username=CORPUS, city=CORPUS, timezone=CORPUS, last_error=CORPUS)
    shop.route(host="10.0.0.1", paused_until="2100-01-01", paused_because=CORPUS)
    shop.block(store, because=CORPUS)
    raw_object = json.dumps({CORPUS: CORPUS})
    location = shop.location(
        platform_store_id=CORPUS[:90], name=CORPUS, chain=CORPUS, city=CORPUS, slug=CORPUS, timezone=CORPUS, raw=raw_object,
        menu_url=f"https://menus.example/{CORPUS}", status="needs_investigation", because=CORPUS, decided_by=CORPUS,
        decided_at="now", problems=[CORPUS],
    )  # fmt: skip
    shop.city(name=CORPUS, failures=1, failed_at="now", error=CORPUS)
    product = {
        "Name": f"Product {CORPUS}",
        "brandName": CORPUS,
        "type": CORPUS,
        "subcategory": CORPUS,
        "description": CORPUS,
        "Options": [CORPUS[:60]],
        "Image": f"https://images.example/{CORPUS}",
    }
    a = await apply(store, 0, **{CORPUS: product})
    b = await apply(store, 1, **{CORPUS: {**product, "recPrices": [10]}, f"{CORPUS}2": product})
    await apply(store, 2, good={}, **{CORPUS: {"Name": ""}, "other": {"Options": [CORPUS[:60]] * 2}})
    raw = shop.raw_menu(store, HOSTILE_ANSWER, problem=CORPUS, page_count=1)
    return [
        "/routes",
        "/quality",
        "/refusals",
        f"/refusals?store={store}",
        f"/raw-menus/{raw}",
        "/stores",
        f"/stores/{store}",
        "/discovery",
        "/discovery?state=AZ",
        "/discovery/locations",
        f"/discovery/locations/{location}",
        "/payloads",
        f"/payloads?store={store}",
        f"/payloads/{a}",
        f"/payloads/diff?a={a}&b={b}",
        f"/payloads/diff?a={a}&b={b}&kind=price",
        "/products",
        f"/products?store={store}",
        f"/products/{first_of('products')}",
        "/brands",
        f"/brands/{first_of('brands')}",
    ]
