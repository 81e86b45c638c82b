"""The pages of stores."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest


async def test_list_shows_the_figures_of_each_store(http: httpx2.AsyncClient, shop: Any, apply: Any) -> None:
    store = shop.store(name="Sun & Moon", city="Mesa")
    await apply(store, 0, a={"recPrices": [20]}, b={"recPrices": [1250.5]})

    page = await http.get("/stores")

    assert page.status_code == 200
    for text in ("Sun &amp; Moon", "Mesa", "$20.00 – $1,250.50", f'href="/stores/{store}"'):
        assert text in page.text


async def test_stores_can_be_searched_by_optional_text_and_state(http: httpx2.AsyncClient, shop: Any) -> None:
    shop.store(name="Sun", state="AZ")
    shop.store(name="Moon", state="NV")

    found = (await http.get("/stores?text=&state=nv")).text

    assert ("Moon" in found, ">Sun<" in found) == (True, False)
    assert "No store matches." in (await http.get("/stores?text=100%25")).text


async def test_store_list_continues_on_the_next_page(http: httpx2.AsyncClient, shop: Any) -> None:
    ids = shop.stores(26)
    first = (await http.get("/stores?state=AZ")).text

    following = first.split('rel="next"')[0].rsplit('href="', 1)[1].split('"')[0].replace("&amp;", "&")
    second = (await http.get(f"/stores{following}")).text

    assert (f'id="store-{ids[-1]}"' in first, f'id="store-{ids[-1]}"' in second) == (False, True)
    assert f'id="store-{ids[0]}"' not in second


async def test_store_shows_its_tasks_payloads_and_products(http: httpx2.AsyncClient, shop: Any, apply: Any) -> None:
    store = shop.store(name="Sun")
    payload = await apply(store, 0, a={"Name": "Blue Dream"})
    await http.post(f"/stores/{store}/fetch")
    [task] = shop.tasks("payload_fetch")

    page = (await http.get(f"/stores/{store}")).text

    for address in (f"/payloads/{payload}", f"/tasks/{task['id']}", f"/tasks?key=store%3A{store}"):
        assert f'href="{address}"' in page
    assert "Blue Dream" in page
    assert "<line-chart" in page


async def test_fetch_now_moves_the_planned_fetch(http: httpx2.AsyncClient, shop: Any) -> None:
    store = shop.store()
    later = {"store_id": store, "scheduled_for": "2100-01-01T00:00:00Z"}
    await http.post("/api/job-queue/enqueue", json=later)

    answer = await http.post(f"/stores/{store}/fetch", headers={"referer": f"http://test/stores/{store}"})

    [task] = shop.tasks("payload_fetch")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/stores/{store}")
    assert task["scheduled_for"].year < 2100


async def test_store_that_is_not_crawled_has_no_button_and_is_rejected(http: httpx2.AsyncClient, shop: Any) -> None:
    store = shop.store(crawl_enabled=False)

    page, answer = await http.get(f"/stores/{store}"), await http.post(f"/stores/{store}/fetch")

    assert "Fetch now" not in page.text
    assert (answer.status_code, shop.tasks("payload_fetch")) == (404, [])


@pytest.mark.parametrize("path", ["/stores/404", "/payloads/404", "/products/404", "/payloads/diff?b=404"])
async def test_unknown_id_is_not_found(http: httpx2.AsyncClient, path: str) -> None:
    page = await http.get(path)

    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "404" in page.text


async def test_blocked_store_is_marked_in_the_list_and_on_its_page(http: httpx2.AsyncClient, shop: Any) -> None:
    blocked, other = shop.store(name="Sun"), shop.store(name="Moon")
    shop.block(blocked, because="HTTP 403")

    everything, listed = [(await http.get(address)).text for address in ("/stores", "/stores?blocked=yes")]
    page = (await http.get(f"/stores/{blocked}")).text

    assert everything.count(">blocked</span>") == 1
    assert (f'id="store-{blocked}"' in listed, f'id="store-{other}"' in listed) == (True, False)
    assert "HTTP 403</span> since" in page


async def test_dark_store_is_marked_in_the_list_and_on_its_page(http: httpx2.AsyncClient, shop: Any) -> None:
    dark, other = shop.store(name="Sun", dark_since="2026-05-01 10:00 UTC"), shop.store(name="Moon")

    everything, listed = [(await http.get(address)).text for address in ("/stores", "/stores?dark=yes")]
    page = (await http.get(f"/stores/{dark}")).text

    assert everything.count(">dark</span>") == 1
    assert (f'id="store-{dark}"' in listed, f'id="store-{other}"' in listed) == (True, False)
    assert "it had no menu for some rounds" in page


async def test_paused_route_shows_its_reason_and_can_be_resumed_immediately(
    http: httpx2.AsyncClient, shop: Any
) -> None:
    route = shop.route(paused_until="2100-01-01", paused_because="3 different stores in a row", last_error="HTTP 403")

    page = (await http.get("/routes")).text
    await http.post(f"/routes/{route}/enable")

    assert ("0 of 1" in page, ">paused</span>" in page, "3 different stores in a row" in page) == (True, True, True)
    assert ">active</span>" in (await http.get("/routes")).text
