"""The pages of products."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import httpx2
import pytest
from storecrawl.catalog import products

CHART = re.compile(r'<line-chart id="prices"[^>]* data="([^"]*)"')


def product_names(page: str) -> list[str]:
    return re.findall(r'href="/products/\d+">([^<]+)<', page)


async def test_products_can_be_searched_by_name_brand_and_store(
    http: httpx2.AsyncClient, shop: Any, apply: Any
) -> None:
    sun, moon = shop.store(name="Sun"), shop.store(name="Moon")
    await apply(sun, 0, a={"Name": "Blue Dream", "brandName": "Kite"}, b={"Name": "Kite Haze"})
    await apply(moon, 0, a={"Name": "Blue Ice"})

    for question, found in {
        "": ["Blue Dream", "Blue Ice", "Kite Haze"],
        "?text=blue": ["Blue Dream", "Blue Ice"],
        "?text=KITE": ["Blue Dream", "Kite Haze"],
        "?text=moon": ["Blue Ice"],
        f"?text=blue&store={sun}&availability=": ["Blue Dream"],
        "?availability=out_of_stock": [],
    }.items():
        assert product_names((await http.get(f"/products{question}")).text) == found, question


async def test_product_shows_all_its_menu_details(http: httpx2.AsyncClient, shop: Any, apply: Any) -> None:
    await apply(
        shop.store(),
        0,
        a={
            "Name": "Blue <i>Gummies</i>",
            "type": "Edible",
            "Options": ["100mg"],
            "medicalOnly": True,
            "updatedAt": "2026-04-30T12:00:00Z",
            "effects": {"pain-relief": 9},
            "terpenes": [{"name": "Limonene", "value": 0.52, "unit": "PERCENTAGE"}],
            "specialData": {"saleSpecials": [{"specialName": "25% <b>OFF", "discount": 25, "percentDiscount": True}]},
            "measurements": {"netWeight": {"unit": "GRAMS", "values": [3.5]}},
        },
    )
    [address] = re.findall(r'href="(/products/\d+)"', (await http.get("/products")).text)

    page = (await http.get(address)).text

    text = html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))
    for sentence in (
        "pain relief 9",
        "Limonene 0.52 %",
        "25% <b>OFF · sale · 25 %",
        "3.5 g",
        "100 mg active",
        "medical use only",
    ):
        assert sentence in text, sentence
    assert "Changed on the platform" in text


async def test_product_without_details_shows_no_empty_card(http: httpx2.AsyncClient, shop: Any, apply: Any) -> None:
    await apply(shop.store(), 0, a={"Name": "Blue Dream"})
    [address] = re.findall(r'href="(/products/\d+)"', (await http.get("/products")).text)

    assert 'aria-label="Details"' not in (await http.get(address)).text


async def test_search_that_reaches_the_read_limit_continues_on_the_next_page(
    http: httpx2.AsyncClient, shop: Any, apply: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "MOST_READ", 3)
    await apply(shop.store(), 0, **{f"p{number}": {"Name": name} for number, name in enumerate("ABCDEFZ")})

    found, address = [], "/products?text=Z"
    while address:
        page = (await http.get(address)).text
        found.append(product_names(page))
        following = re.search(r'href="([^"]+)" rel="next"', page)
        address = f"/products{html.unescape(following[1])}" if following else ""

    assert found == [[], [], ["Z"]]


async def test_product_shows_its_price_and_availability_over_time(
    http: httpx2.AsyncClient, shop: Any, apply: Any
) -> None:
    store = shop.store(name="Sun")
    for hour, (price, status) in enumerate([(20, "Active"), (25, "Active"), (25, "Inactive")]):
        await apply(store, hour, a={"Name": "Blue Dream", "recPrices": [price], "Status": status})
    [product] = re.findall(r'href="(/products/\d+)"', (await http.get("/products")).text)

    page = (await http.get(product)).text

    chart = CHART.search(page)
    assert chart is not None
    assert json.loads(html.unescape(html.unescape(chart[1])))["series"][0]["values"] == [20.0, 25.0, 25.0]
    assert page.count("<rect data-tone") == 2
    assert "for 2 h" in page
