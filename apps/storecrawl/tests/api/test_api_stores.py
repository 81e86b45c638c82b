"""Stores over HTTP."""

from __future__ import annotations

from typing import Any

import httpx2


async def test_stores_are_listed_in_pages(http: httpx2.AsyncClient, shop: Any) -> None:
    ids = shop.stores(5)

    first = (await http.get("/api/stores?limit=3")).json()
    second = (await http.get("/api/stores", params={"limit": 3, "cursor": first["next_cursor"]})).json()

    assert [store["id"] for store in (*first["items"], *second["items"])] == ids
    assert second["next_cursor"] is None


async def test_stores_can_be_filtered_by_state_and_text(http: httpx2.AsyncClient, shop: Any) -> None:
    phoenix = shop.store(name="Sun_Door", city="Phoenix", slug="sun-door")
    reno = shop.store(name="100% Green", city="Reno", state="NV")

    for question, found in {
        "state=nv": [reno], "state=CO": [], "text=PHOEN": [phoenix], "text=sun-door": [phoenix], "text=100%25": [reno],
        "text=_": [phoenix], "text=%5C": [], "text=e&state=NV": [reno],
    }.items():  # fmt: skip
        items = (await http.get(f"/api/stores?{question}")).json()["items"]
        assert [store["id"] for store in items] == found, question


async def test_store_is_shown(http: httpx2.AsyncClient, shop: Any) -> None:
    store = shop.store(name="Sun", city="Mesa", crawl_enabled=False)

    answer = (await http.get(f"/api/stores/{store}")).json()

    assert (answer["name"], answer["city"], answer["crawl_enabled"]) == ("Sun", "Mesa", False)


async def test_list_with_invalid_parameters_is_rejected(http: httpx2.AsyncClient) -> None:
    for question in ("state=A", "state=A%25", "text=", "text=%00", "limit=0", "limit=501", "cursor=x"):
        answer = await http.get(f"/api/stores?{question}")
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json"), question
