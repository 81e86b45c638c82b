"""The pages of crawl payloads."""

from __future__ import annotations

import secrets
from typing import Any

import httpx2
from storecrawl.pages.payloads import SHOWN_BYTES

YES = {"confirmed": "true"}


async def test_payloads_are_listed_newest_first_with_their_stores(http: httpx2.AsyncClient, shop: Any) -> None:
    old = shop.payload(shop.store(name="Sun"), {"a": 1}, hour=1)
    new = shop.payload(shop.store(name="Moon"), {"a": 2}, hour=2)

    page = (await http.get("/payloads")).text

    assert page.index(f'id="payload-{new}"') < page.index(f'id="payload-{old}"')
    assert page.index("Moon") < page.index("Sun")


async def test_payload_list_of_a_store_shows_their_sizes_over_time(http: httpx2.AsyncClient, shop: Any) -> None:
    store, other = shop.stores(2)
    kept, left = shop.payload(store, {"a": 1}, hour=1), shop.payload(other, {"a": 1}, hour=2)

    page = (await http.get(f"/payloads?store={store}")).text

    assert (f'id="payload-{kept}"' in page, f'id="payload-{left}"' in page) == (True, False)
    assert "<line-chart" in page


async def test_payload_shows_the_start_of_its_document_and_a_full_link(http: httpx2.AsyncClient, shop: Any) -> None:
    rest = [secrets.token_hex(500) for _ in range(100)]
    payload = shop.payload(shop.store(), {"first": 1, "rest": rest, "last": 1})

    page = (await http.get(f"/payloads/{payload}")).text

    assert ("&#34;first&#34;: 1" in page, "&#34;last&#34;: 1" in page) == (True, False)
    assert f'href="/api/payloads/{payload}/data"' in page
    assert len(page) < 4 * SHOWN_BYTES


async def test_payload_with_a_missing_file_still_has_its_page(http: httpx2.AsyncClient, shop: Any) -> None:
    payload = shop.payload(shop.store(), {"a": 1})
    shop.file_of(payload).unlink()

    page = await http.get(f"/payloads/{payload}")

    assert page.status_code == 200
    assert "no such file" in page.text


async def test_applying_twice_enqueues_one_task(http: httpx2.AsyncClient, shop: Any) -> None:
    store = shop.store()
    payload = shop.payload(store, {"a": 1})

    answers = [await http.post(f"/payloads/{payload}/replay", data=YES) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [303, 303]
    [task] = shop.tasks("product_refresh")
    assert task["payload"] == {"payload_id": payload, "store_id": store}


async def test_payload_list_of_a_store_without_payloads_is_explained(http: httpx2.AsyncClient, shop: Any) -> None:
    page = (await http.get(f"/payloads?store={shop.store()}")).text

    assert "Nothing has been fetched yet." in page
