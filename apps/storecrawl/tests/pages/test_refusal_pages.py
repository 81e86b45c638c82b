"""Pages of rejections and raw responses."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import httpx2
from storecrawl.platforms.raw_pages import RawPage, write_raw_pages

ANSWER = RawPage(part="med full", number=3, status=200, content_type="text/html", body=b"<h1>over here</h1>")


async def test_refusals_of_a_payload_are_counted_and_listed(http: httpx2.AsyncClient, shop: Any, apply: Any) -> None:
    store = shop.store(name="Sun")
    payload = await apply(store, 0, a={}, b={"Name": ""}, c={"Options": ["1g", "1g"], "recPrices": [1, 2]})
    await apply(store, 1, a={}, x={"Options": 7})

    page, refusals_page = [
        (await http.get(path)).text for path in (f"/payloads/{payload}", f"/refusals?payload={payload}")
    ]

    assert f'<a href="/refusals?payload={payload}">1</a>' in page
    assert "and 1 options of others" in page
    for text in ("it has no name", "the whole product", "the option occurs twice", ">Sun</a>"):
        assert text in refusals_page
    assert "Options is not a list" not in refusals_page


async def test_refusals_of_a_store_form_one_list(http: httpx2.AsyncClient, shop: Any, apply: Any) -> None:
    store, other = shop.store(), shop.store()
    for hour in range(2):
        await apply(store, hour, a={}, b={"Name": ""})
    await apply(other, 2, a={}, x={"Options": 7})

    refusals_page, everything = [(await http.get(path)).text for path in (f"/refusals?store={store}", "/refusals")]

    assert (refusals_page.count("it has no name"), refusals_page.count("Options is not a list")) == (2, 0)
    assert (everything.count("it has no name"), everything.count("Options is not a list")) == (2, 1)
    assert f'href="/refusals?store={store}"' in (await http.get(f"/stores/{store}")).text


async def test_many_refusals_are_paginated(http: httpx2.AsyncClient, shop: Any) -> None:
    store = shop.store()
    payload = shop.payload(store, {})
    for _ in range(70):
        shop.refusal(store, payload, reason="it has no name")

    first = (await http.get(f"/refusals?store={store}")).text
    [following] = re.findall(r'href="([^"]*cursor=[^"]*)"', first)
    second = (await http.get("/refusals" + unescape(following))).text

    assert [page.count("it has no name") for page in (first, second)] == [50, 20]


async def test_raw_menu_shows_each_response_and_why_there_is_no_payload(http: httpx2.AsyncClient, shop: Any) -> None:
    store = shop.store()
    raw = shop.raw_menu(store, write_raw_pages([ANSWER]), problem="Malformed: no JSON", page_count=1)

    page, of_store = [(await http.get(path)).text for path in (f"/raw-menus/{raw}", f"/stores/{store}")]

    for text in (
        "There is no payload: Malformed: no JSON",
        "med",
        "full",
        "text/html",
        f"/api/raw-menus/{raw}/pages/0",
    ):
        assert text in page
    assert (f'href="/raw-menus/{raw}"' in of_store, "Malformed: no JSON" in of_store) == (True, True)


async def test_payload_links_to_the_responses_it_was_merged_from(
    http: httpx2.AsyncClient, shop: Any, apply: Any
) -> None:
    store = shop.store()
    payload = await apply(store, 0, a={})
    raw = shop.raw_menu(store, write_raw_pages([ANSWER]), payload_id=payload, page_count=1)

    assert f'href="/raw-menus/{raw}"' in (await http.get(f"/payloads/{payload}")).text
    assert f'href="/payloads/{payload}"' in (await http.get(f"/raw-menus/{raw}")).text
