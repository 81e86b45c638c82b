"""Products, their histories, categories and changes over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import psycopg
import pytest
from storecrawl.catalog import apply_menu, begin_round, count_stores, merge_statistics, publish_changes
from storecrawl.catalog.normalize import normalize

START = datetime(2026, 5, 1, tzinfo=UTC)
MENU: dict[str, dict[str, Any]] = {
    "a": {"brandName": "Kite", "recPrices": [30]},
    "b": {"brandName": "Kite", "recPrices": [10], "type": "Edible"},
    "c": {"brandName": "Wana", "recPrices": [20], "Status": "Inactive"},
}


@pytest.fixture
async def writing(database: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        yield connection


@pytest.fixture
async def store(writing: psycopg.AsyncConnection[Any], shop: Any, make_document: Any) -> int:
    """A store in Arizona with two menus: the second one changes a price."""
    store_id: int = shop.store(name="Mesa Verde")
    for hour, price in enumerate((25, 30)):
        document = make_document(**MENU | {"a": {**MENU["a"], "recPrices": [price]}})
        payload = shop.payload(store_id, document, hour, product_count=3)
        async with writing.transaction():
            await apply_menu(writing, payload, store_id, START + timedelta(hours=hour), normalize(document))
    return store_id


async def _names(http: httpx2.AsyncClient, **parameters: str | int) -> list[str]:
    found: list[str] = []
    while True:
        page = (await http.get("/api/products", params=parameters)).json()
        found += [product["name"][-1] for product in page["items"]]
        if page["next_cursor"] is None:
            return found
        parameters["cursor"] = page["next_cursor"]


@pytest.mark.usefixtures("store")
async def test_products_are_filtered_and_sorted_across_pages(http: httpx2.AsyncClient) -> None:
    questions: list[tuple[dict[str, str | int], str]] = [
        ({}, "abc"),
        ({"state": "NV"}, ""),
        ({"platform": "dutchie"}, "abc"),
        ({"platform": "weedmaps"}, ""),
        ({"state": "AZ", "brand": "KITE"}, "ab"),
        ({"category": "edibles"}, "b"),
        ({"text": "wan"}, "c"),
        ({"lowest_cents": 1500, "highest_cents": 2500}, "c"),
        ({"in_stock": "true"}, "ab"),
        ({"on_special": "true"}, ""),
        ({"brand": "Kite", "sort": "lowest_price"}, "ba"),
        ({"store_id": 1, "sort": "highest_price"}, "acb"),
    ]
    for parameters, names in questions:
        assert "".join(await _names(http, limit=1, **parameters)) == names, parameters


async def test_sorting_all_products_by_price_is_refused(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/api/products?sort=lowest_price")

    assert (answer.status_code, answer.json()["detail"]) == (422, "sort=lowest_price needs store_id or brand")


@pytest.mark.usefixtures("store")
async def test_product_is_shown_with_its_options_and_history(http: httpx2.AsyncClient) -> None:
    [listed] = (await http.get("/api/products?text=product a")).json()["items"]
    address = f"/api/products/{listed['id']}"

    product = (await http.get(address)).json()
    newest = (await http.get(f"{address}/history?limit=1")).json()
    oldest = (await http.get(f"{address}/history", params={"limit": 1, "cursor": newest["next_cursor"]})).json()
    early = (await http.get(f"{address}/history", params={"until": "2026-05-01T00:30:00Z"})).json()

    assert (product["store_name"], product["options"][0]["price_rec_cents"]) == ("Mesa Verde", 3000)
    prices = [page["items"][0]["options"][0]["price_rec_cents"] for page in (newest, oldest, early)]
    assert (prices, oldest["next_cursor"]) == ([3000, 2500, 2500], None)
    assert (await http.get("/api/products/987654")).json()["type"].endswith("product-not-found")
    assert (await http.get("/api/products/987654/history")).status_code == 404


async def test_categories_have_totals_over_all_stores(
    http: httpx2.AsyncClient, writing: psycopg.AsyncConnection[Any], store: int
) -> None:
    await begin_round(writing, stores=1, pause=timedelta(), logged=True)
    await count_stores(writing, [store])
    await merge_statistics(writing, None)

    flower, edible = (await http.get("/api/categories?state=AZ")).json()

    assert (flower["category"], flower["products"], flower["highest_cents"]) == ("flower", 2, 3000)
    assert (edible["category"], edible["stores"], edible["lowest_cents"]) == ("edibles", 1, 1000)


async def test_changes_are_read_from_a_position(
    http: httpx2.AsyncClient, writing: psycopg.AsyncConnection[Any], store: int
) -> None:
    await publish_changes(writing)

    page = (await http.get("/api/changes", params={"kind": "price_changed", "store_id": store})).json()
    behind = (await http.get("/api/changes", params={"since": page["next_since"]})).json()

    assert [(change["old"], change["new"]) for change in page["items"]] == [
        ({"price_rec_cents": 2500}, {"price_rec_cents": 3000})
    ]
    assert (behind["items"], behind["next_since"], behind["published"]) == ([], 1, 1)
    assert (await http.get("/api/changes?since=2")).status_code == 409
    assert (await http.get("/api/changes?kind=nothing")).status_code == 422
