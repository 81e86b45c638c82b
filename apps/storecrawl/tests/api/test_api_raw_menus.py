"""Raw menus and rejections over HTTP."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from storecrawl.platforms.raw_pages import RawPage, write_raw_pages

from apps.storecrawl.tests.conftest import Shop

ANSWERS = [
    RawPage(part="rec shown", number=0, status=200, content_type="application/json", body=b"{}\n"),
    RawPage(part="med full", number=3, status=200, content_type="text/html", body=b"\xff<b>\n\n"),
]  # fmt: skip


@pytest.fixture
def raw(shop: Shop) -> int:
    return shop.raw_menu(shop.store(), write_raw_pages(ANSWERS), problem="Malformed: no JSON", page_count=2)


async def test_raw_responses_are_listed_and_each_is_returned_unchanged(http: httpx2.AsyncClient, raw: int) -> None:
    pages = (await http.get(f"/api/raw-menus/{raw}/pages")).json()
    responses = [await http.get(f"/api/raw-menus/{raw}/pages/{each['index']}") for each in pages]

    assert [(each["part"], each["page"], each["size"]) for each in pages] == [
        ("rec shown", 0, 3),
        ("med full", 3, 6),
    ]
    assert [each.content for each in responses] == [answer.body for answer in ANSWERS]
    assert {each.headers["content-type"] for each in responses} == {"application/octet-stream"}
    assert {each.headers["x-content-type-options"] for each in responses} == {"nosniff"}


async def test_unknown_payload_is_404_and_an_expired_one_410(http: httpx2.AsyncClient, shop: Shop, raw: int) -> None:
    expired_raw = shop.raw_menu(shop.store(), b"", problem="x", page_count=0, expired_at="2026-05-02")

    codes = [
        (await http.get(f"/api/raw-menus/{path}")).status_code
        for path in ("404", "404/pages", f"{raw}/pages/2", f"{expired_raw}/pages")
    ]

    assert codes == [404, 404, 404, 410]


async def test_raw_menus_can_be_listed_completely_or_only_rejected_ones(
    http: httpx2.AsyncClient, shop: Shop, raw: int
) -> None:
    store = shop.store()
    payload = shop.payload(store, {})
    merged = shop.raw_menu(store, write_raw_pages(ANSWERS), payload_id=payload, page_count=2)

    everything = (await http.get("/api/raw-menus")).json()["items"]
    refused = (await http.get("/api/raw-menus?refused=true")).json()["items"]
    of_store = (await http.get(f"/api/raw-menus?store_id={store}")).json()["items"]

    assert {each["id"] for each in everything} == {raw, merged}
    assert [(each["id"], each["payload_id"], each["problem"]) for each in refused] == [
        (raw, None, "Malformed: no JSON")
    ]
    assert [each["id"] for each in of_store] == [merged]
    assert (await http.get(f"/api/payloads/{payload}")).json()["raw_menu_id"] == merged


async def test_refusals_can_be_listed_by_payload_and_by_store(http: httpx2.AsyncClient, shop: Shop) -> None:
    store, other = shop.stores(2)
    first, second, third = shop.payload(store, {}, hour=0), shop.payload(store, {}, hour=1), shop.payload(other, {})
    for payload, owner in ((first, store), (second, store), (third, other)):
        shop.refusal(owner, payload, external_id=f"of {payload}", reason="it has no name")
    shop.refusal(store, second, external_id="b", option="1g", reason="the option occurs twice; the first was kept")

    by_payload, by_store = [
        (await http.get(path)).json()["items"]
        for path in (f"/api/payloads/{first}/refusals", f"/api/payloads/store/{store}/refusals")
    ]

    assert [(each["external_id"], each["option"], each["reason"]) for each in by_payload] == [
        (f"of {first}", None, "it has no name")
    ]
    assert [(each["payload_id"], each["option"]) for each in by_store] == [
        (second, "1g"),
        (second, None),
        (first, None),
    ]
    assert (await http.get("/api/payloads/404/refusals")).status_code == 404
    assert (await http.get("/api/payloads/store/404/refusals")).status_code == 404


async def test_many_refusals_are_paginated(http: httpx2.AsyncClient, shop: Shop) -> None:
    store = shop.store()
    payload = shop.payload(store, {})
    ids = [shop.refusal(store, payload, reason="x") for _ in range(5)]

    found: list[int] = []
    cursor: Any = ""
    while cursor is not None and len(found) <= len(ids):
        following = f"&cursor={cursor}" if cursor else ""
        answer = (await http.get(f"/api/payloads/{payload}/refusals?limit=2{following}")).json()
        found += [each["id"] for each in answer["items"]]
        cursor = answer["next_cursor"]

    assert found == ids[::-1]
