"""The comparison of two payloads."""

from __future__ import annotations

import re
from typing import Any

import httpx2

SECTION = re.compile(r'<section aria-labelledby="(\w+)-title">')


def counts(page: str) -> list[str]:
    return re.findall(r'class="value">([^<]+)<', page)


async def test_page_counts_and_names_added_removed_repriced_and_sold_products(
    http: httpx2.AsyncClient, shop: Any, apply: Any
) -> None:
    store = shop.store()
    stock = {"POSMetaData": {"children": [{"option": "1g", "quantityAvailable": 5}]}}
    sold = {"POSMetaData": {"children": [{"option": "1g", "quantityAvailable": 2}]}}
    a = await apply(store, 0, gone={"Name": "Old Dream"}, kept={"recPrices": [20]}, sold={**stock})
    b = await apply(store, 1, new={"Name": "New Dream"}, kept={"recPrices": [15]}, sold={**sold})

    page = (await http.get(f"/payloads/diff?a={a}&b={b}")).text

    assert counts(page) == ["1", "1", "1", "1"]
    for text in ("Old Dream", "New Dream", "$20.00", "$15.00", "-25 %"):
        assert text in page
    assert f'href="/payloads/{a}"' in page


async def test_missing_first_payload_defaults_to_the_previous_one(
    http: httpx2.AsyncClient, shop: Any, apply: Any
) -> None:
    store = shop.store()
    a, b = await apply(store, 0, x={}), await apply(store, 1, x={}, y={})
    await apply(store, 2)

    named = (await http.get(f"/payloads/diff?a={a}&b={b}")).text
    before = (await http.get(f"/payloads/diff?b={b}")).text

    assert counts(named) == counts(before) == ["0", "0", "1", "0"]


async def test_latest_two_payloads_of_a_store_are_compared(http: httpx2.AsyncClient, shop: Any, apply: Any) -> None:
    store = shop.store()
    for hour in range(3):
        await apply(store, hour, x={}, **{f"p{number}": {} for number in range(hour)})

    assert counts((await http.get(f"/payloads/diff?store={store}")).text) == ["0", "0", "1", "0"]


async def test_kind_is_selected_by_the_url_and_long_lists_are_paginated(
    http: httpx2.AsyncClient, shop: Any, apply: Any
) -> None:
    store = shop.store()
    await apply(store, 0, x={})
    await apply(store, 1, **{f"p{number:03}": {} for number in range(60)})
    address = f"/payloads/diff?store={store}"

    whole, first, second = [(await http.get(address + more)).text for more in ("", "&kind=added", "&kind=added&page=2")]

    assert (SECTION.findall(whole), SECTION.findall(first)) == (["added", "removed"], ["added"])
    assert [page.count("Product p0") for page in (whole, first, second)] == [8, 50, 10]
    assert 'rel="next"' in first
    assert 'rel="next"' not in second


async def test_payloads_of_two_stores_are_not_compared(http: httpx2.AsyncClient, shop: Any, apply: Any) -> None:
    one, other = shop.stores(2)
    a, b = await apply(one, 0, x={}), await apply(other, 0, x={})

    page = await http.get(f"/payloads/diff?a={a}&b={b}")

    assert (page.status_code, f"no crawl payload {a} of store {other}" in page.text) == (404, True)


async def test_page_without_payloads_shows_a_selection_form(http: httpx2.AsyncClient) -> None:
    page = await http.get("/payloads/diff")

    assert (page.status_code, "give two payloads" in page.text) == (422, True)
