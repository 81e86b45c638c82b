"""Brands and categories over HTTP, as derived by the last round."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import psycopg
import pytest
from storecrawl.catalog import apply_menu, begin_round, count_stores, merge_statistics
from storecrawl.catalog.normalize import normalize

START = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture
async def shops(database: str, shop: Any, make_document: Any) -> list[int]:
    menus: list[dict[str, dict[str, Any]]] = [
        {"a": {"brandName": "Kite"}, "b": {"brandName": "Wana", "type": "Edible"}, "c": {"brandName": "Kite"}},
        {"a": {"brandName": "Kite", "recPrices": [10]}, "d": {"brandName": "Alto"}},
    ]
    stores: list[int] = shop.stores(2)
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        for store, products in zip(stores, menus, strict=True):
            document = make_document(**products)
            payload = shop.payload(store, document, product_count=len(products))
            await apply_menu(connection, payload, store, START, normalize(document))
        await begin_round(connection, stores=2, pause=timedelta(), logged=True)
        await count_stores(connection, stores)
        await merge_statistics(connection, None)
    return stores


async def test_brands_are_listed_by_name_or_product_count_with_pagination(
    http: httpx2.AsyncClient, shops: list[int]
) -> None:
    assert len(shops) == 2
    for sort, names in (("name", ["Alto", "Kite", "Wana"]), ("products", ["Kite", "Wana", "Alto"])):
        found: list[str] = []
        question: dict[str, str | int] = {"limit": 1, "sort": sort}
        while True:
            page = (await http.get("/api/brands", params=question)).json()
            found += [brand["name"] for brand in page["items"]]
            if page["next_cursor"] is None:
                break
            question["cursor"] = page["next_cursor"]
        assert sorted(found) == sorted(names)
        assert found[0] == names[0], sort


async def test_brand_shows_its_products_across_all_menus(http: httpx2.AsyncClient, shops: list[int]) -> None:
    [kite] = (await http.get("/api/brands?text=KIT")).json()["items"]

    brand = (await http.get(f"/api/brands/{kite['id']}")).json()

    assert brand == kite
    figures = ("slug", "stores", "products", "in_stock", "lowest_cents", "average_cents", "highest_cents")
    assert [brand[name] for name in figures] == ["kite", len(shops), 3, 3, 1000, 1667, 2000]
    missing = await http.get("/api/brands/987654")
    assert (missing.status_code, missing.json()["type"]) == (404, "urn:rolecall:brand-not-found")


async def test_store_shows_its_products_by_category(http: httpx2.AsyncClient, shops: list[int]) -> None:
    categories = (await http.get(f"/api/stores/{shops[0]}/categories")).json()

    assert [(each["category"], each["products"], each["brands"]) for each in categories] == [
        ("flower", 2, 1),
        ("edibles", 1, 1),
    ]
    assert (await http.get("/api/stores/987654/categories")).status_code == 404


async def test_pages_show_the_same_brands(http: httpx2.AsyncClient, shops: list[int]) -> None:
    listed = (await http.get("/brands?sort=")).text
    [kite] = (await http.get("/api/brands?text=Kite")).json()["items"]
    shown = (await http.get(f"/brands/{kite['id']}")).text
    store = (await http.get(f"/stores/{shops[0]}")).text

    assert listed.index("Kite") < listed.index("Alto")
    assert "$10.00 – $20.00" in listed
    assert "$16.67" in shown
    assert f'href="/stores/{shops[1]}"' in shown
    assert "categories-title" in store
