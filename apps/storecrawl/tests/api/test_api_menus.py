"""Menus over HTTP: differences, queries and summaries."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest

PERCENT = {"unit": "PERCENTAGE"}
PRODUCTS: dict[str, dict[str, Any]] = {
    "a": {"Name": "Blue Dream", "brandName": "Sun", "recPrices": [40], "THCContent": {**PERCENT, "range": [20, 25]}},
    "b": {
        "Name": "Gummies",
        "brandName": "Moon",
        "type": "Edible",
        "subcategory": "gummies",
        "recPrices": [15],
        "special": True,
        "recSpecialPrices": [12.5],
        "THCContent": {"unit": "MILLIGRAMS", "range": [100]},
    },
    "c": {
        "Name": "Sunset",
        "brandName": "sun",
        "strainType": "Indica",
        "Options": ["1/8oz", "1oz"],
        "recPrices": [30, 200],
        "medicalPrices": [25, 180],
        "THCContent": {"unit": "MILLIGRAMS_PER_GRAM", "range": [180]},
    },
    "d": {"Name": "Lighter", "type": "Accessories", "recPrices": [], "Status": "Inactive"},
}

QUESTIONS = {
    "": "abdc",
    "brand=SUN": "ac",
    "category=edibles": "b",
    "subcategory=Gummies": "b",
    "strain_type=indica": "c",
    "in_stock=false": "d",
    "price_min=1250&price_max=3000": "bc",
    "price_max=1249": "",
    "thc_min=18&thc_max=20": "ac",
    "thc_min=25.5": "",
    "search=sun": "ac",
    "sort=price": "bcad",
    "sort=price&order=desc": "acbd",
    "sort=thc&order=desc": "acbd",
    "sort=brand": "bacd",
    "limit=2&offset=1": "bd",
    "offset=1000": "",
    "search=%25": "",
}


@pytest.fixture
async def menu_store(shop: Any, apply: Callable[..., Awaitable[int]]) -> int:
    store: int = shop.store()
    await apply(store, 0, **PRODUCTS)
    return store


async def test_diff_of_the_latest_two_payloads_has_exactly_this_form(
    http: httpx2.AsyncClient, shop: Any, make_document: Callable[..., Any]
) -> None:
    store = shop.store()
    shop.payload(store, make_document(old={}), hour=0)
    stock = {"manualInventory": [{"option": "1g", "inventory": 4}]}
    first = shop.payload(store, make_document(a={}, b=stock, gone={}), hour=1, product_count=3)
    empty = {"manualInventory": [{"option": "1g", "inventory": 0}]}
    second = shop.payload(store, make_document(a={"recPrices": [18.5]}, b=empty, new={}), hour=2, product_count=3)

    answer = await http.get(f"/api/payloads/store/{store}/diff")

    change = {"externalId": "b", "name": "Product b", "option": "1g"}
    assert answer.json() == {
        "success": True,
        "from": {"id": first, "fetchedAt": "2026-05-01T01:00:00Z", "productCount": 3},
        "to": {"id": second, "fetchedAt": "2026-05-01T02:00:00Z", "productCount": 3},
        "diff": {"added": 1, "removed": 1, "priceChanges": 1, "stockChanges": 2},
        "details": {
            "added": [{"externalId": "new", "name": "Product new"}],
            "removed": [{"externalId": "gone", "name": "Product gone"}],
            "priceChanges": [
                {
                    "externalId": "a", "name": "Product a", "option": "1g",
                    "field": "price_rec_cents", "before": 2000, "after": 1850,
                }
            ],
            "stockChanges": [
                {**change, "field": "in_stock", "before": True, "after": False},
                {**change, "field": "quantity", "before": 4, "after": 0},
            ],
        },
    }  # fmt: skip


async def test_any_two_payloads_of_a_store_can_be_compared(
    http: httpx2.AsyncClient, shop: Any, make_document: Callable[..., Any]
) -> None:
    store = shop.store()
    ids = [shop.payload(store, make_document(**{str(hour): {}}), hour=hour) for hour in range(4)]
    pairs = {"": (2, 3), f"?from={ids[0]}": (0, 3), f"?to={ids[1]}": (0, 1), f"?from={ids[3]}&to={ids[1]}": (3, 1)}

    for question, (earlier, later) in pairs.items():
        answer = (await http.get(f"/api/payloads/store/{store}/diff{question}")).json()
        assert (answer["from"]["id"], answer["to"]["id"]) == (ids[earlier], ids[later])


async def test_payloads_of_different_stores_cannot_be_compared(
    http: httpx2.AsyncClient, shop: Any, make_document: Callable[..., Any]
) -> None:
    mine, other = shop.stores(2)
    own = shop.payload(mine, make_document(a={}))
    foreign = shop.payload(other, make_document(a={}))

    for question in ("", f"?to={own}", f"?from={foreign}", f"?to={foreign}", "?from=404"):
        answer = await http.get(f"/api/payloads/store/{mine}/diff{question}")
        assert (answer.status_code, answer.json()["type"]) == (404, "urn:rolecall:payload-not-found")
    for question in ("?from=0", "?to=x", "?to=9223372036854775808"):
        assert (await http.get(f"/api/payloads/store/{mine}/diff{question}")).status_code == 422


async def test_damaged_document_is_reported_on_the_page_without_a_server_error(
    http: httpx2.AsyncClient, shop: Any
) -> None:
    store = shop.store()
    broken = shop.payload(store, {"a": 1}, hour=1)
    shop.payload(store, {"no": "menu"}, hour=2)

    shop.file_of(broken).unlink()
    answer = await http.get(f"/api/payloads/store/{store}/diff")
    assert (answer.status_code, answer.json()["type"]) == (410, "urn:rolecall:payload-missing")


async def test_menu_item_contains_every_field(http: httpx2.AsyncClient, menu_store: int) -> None:
    answer = (await http.get(f"/api/payloads/store/{menu_store}/query", params={"search": "sunset"})).json()

    assert answer == {
        "total": 1, "limit": 100, "offset": 0,
        "items": [
            {
                "id": "c", "name": "Sunset", "brand": "sun", "category": "flower", "subcategory": None,
                "strain_type": "indica", "price": 3000, "price_med": 2500, "price_rec": 3000,
                "thc": {"lo": 180.0, "hi": 180.0, "unit": "MILLIGRAMS_PER_GRAM"}, "cbd": None,
                "weight": {"value": 3.5, "unit": "g"}, "status": "in_stock", "in_stock": True, "image_url": None,
                "description": None,
            }
        ],
    }  # fmt: skip


async def test_menu_can_be_queried(http: httpx2.AsyncClient, menu_store: int) -> None:
    for question, found in QUESTIONS.items():
        answer = await http.get(f"/api/payloads/store/{menu_store}/query?{question}")
        assert "".join(item["id"] for item in answer.json()["items"]) == found, question


async def test_query_returns_only_the_requested_fields(http: httpx2.AsyncClient, menu_store: int) -> None:
    answer = await http.get(f"/api/payloads/store/{menu_store}/query?fields=price,brand&search=lighter")

    assert answer.json()["items"] == [{"price": None, "brand": None}]


async def test_invalid_query_is_rejected(http: httpx2.AsyncClient, menu_store: int) -> None:
    for question in (
        "limit=0", "limit=1001", "offset=-1", "sort=id", "order=up", "fields=name,secret", "category=spaceships",
        "price_min=1.5", "thc_min=nan", "thc_max=inf", "thc_min=-1", "in_stock=perhaps", "brand=a&colour=red", "fields=",
    ):  # fmt: skip
        answer = await http.get(f"/api/payloads/store/{menu_store}/query?{question}")
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json"), question


async def test_menu_can_be_aggregated_by_brand_and_category(http: httpx2.AsyncClient, menu_store: int) -> None:
    by_category = (await http.get(f"/api/payloads/store/{menu_store}/aggregate?group_by=category")).json()
    by_brand = (await http.get(f"/api/payloads/store/{menu_store}/aggregate")).json()

    assert by_category["items"][0] == {
        "group": "flower", "count": 2, "avg_price": 3500, "min_price": 3000, "max_price": 4000,
        "avg_thc": 20.25, "in_stock_count": 2,
    }  # fmt: skip
    groups = [(group["group"], group["count"], group["avg_thc"]) for group in by_brand["items"]]
    assert groups == [("Moon", 1, None), ("Sun", 1, 22.5), ("sun", 1, 18.0), (None, 1, None)]
    assert by_brand["items"][3]["avg_price"] is None
    assert (await http.get(f"/api/payloads/store/{menu_store}/aggregate?group_by=price")).status_code == 422
