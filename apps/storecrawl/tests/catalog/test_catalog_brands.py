"""Brands with their spellings, references from products, and price changes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from storecrawl.catalog import RefreshReport, RefreshRules, apply_menu
from storecrawl.catalog.normalize import Menu

from .conftest import START

pytestmark = pytest.mark.asyncio

MakeMenu = Callable[..., Menu]
NewStore = Callable[..., Awaitable[int]]
Refresh = Callable[..., Awaitable[RefreshReport]]
Query = Callable[..., Awaitable[list[dict[str, Any]]]]

BRANDS = "select name, slug, external_id, logo_url from storecrawl.brands order by slug"
LOGO = "https://images.example/logo.png"


async def test_products_of_all_stores_share_one_brand_regardless_of_spelling(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    kite = {"brandName": "Dr. Kite's", "brandId": "b7", "brandLogo": LOGO}
    await refresh(await new_store(), 0, make_menu({"a": kite, "b": {"brandName": None}}))
    await refresh(await new_store(), 1, make_menu({"a": {"brandName": "DR KITE'S"}, "b": {"brandName": "Wana"}}))

    assert [tuple(row.values()) for row in await query(BRANDS)] == [
        ("Dr. Kite's", "dr-kite-s", "b7", LOGO),
        ("Wana", "wana", None, None),
    ]
    named = await query(
        "select coalesce(brands.slug, '-') as slug, count(*) as products from storecrawl.products"
        " left join storecrawl.brands on brands.id = brand_id"
        " group by 1 order by 1"
    )
    assert [tuple(row.values()) for row in named] == [("-", 1), ("dr-kite-s", 2), ("wana", 1)]


async def test_logo_is_added_later_but_never_replaced(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    for hour, logo in enumerate((None, LOGO, "https://images.example/other.png")):
        await refresh(store, hour, make_menu({"a": {"brandName": "Kite", "brandLogo": logo}}))

    assert [row["logo_url"] for row in await query(BRANDS)] == [LOGO]


async def test_price_change_count_includes_only_price_changes_of_an_option(
    new_store: NewStore, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    changes: list[dict[str, object]] = [{}, {"recPrices": [25]}, {"Status": "Inactive"}, {"recPrices": [25]}, {}]
    for hour, members in enumerate(changes):
        await refresh(store, hour, make_menu({"a": {"recPrices": [20], **members}}))

    [row] = await query("select price_changes, price_changed_at from storecrawl.variants")
    assert (row["price_changes"], row["price_changed_at"].hour) == (4, 4)


async def test_miss_threshold_is_configurable(
    connection: Any, new_store: NewStore, new_payload: Any, make_menu: MakeMenu, refresh: Refresh, query: Query
) -> None:
    store = await new_store()
    await refresh(store, 0, make_menu(["a", "b"]))
    payload = await new_payload(store, 1)

    fetched_at = START.replace(hour=1)
    report = await apply_menu(
        connection, payload, store, fetched_at, make_menu(["a"]), rules=RefreshRules(miss_threshold=1)
    )

    assert report.out_of_stock == 1
    [row] = await query("select availability::text from storecrawl.products where external_id = 'b'")
    assert row["availability"] == "removed_from_menu"
