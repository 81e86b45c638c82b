"""Crawl payloads over HTTP: lists, single ones, and replays."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from rolecall import App
from rolecall.testing import drain

FIELDS = {
    "id", "store_id", "task_id", "product_count", "size_raw", "size_gz", "sha256", "fetched_at", "created_at",
    "applied_at", "applied_count", "complete", "expired_at",
    "raw_menu_id", "refused_products", "refused_options",
}  # fmt: skip
UNKNOWN = {
    "/api/payloads/404": "payload-not-found",
    "/api/payloads/404/data": "payload-not-found",
    "/api/payloads/store/404": "store-not-found",
    "/api/payloads/store/404/latest": "payload-not-found",
    "/api/payloads/store/404/diff": "payload-not-found",
    "/api/payloads/store/404/query": "store-not-found",
    "/api/payloads/store/404/aggregate": "store-not-found",
    "/api/stores/404": "store-not-found",
}
PATHS_WITH_IDS = ["/api/payloads/{}", "/api/payloads/{}/data", "/api/payloads/store/{}/query", "/api/stores/{}"]
HOSTILE = ["0", "-1", "9223372036854775808", "1" * 400, "1.0", "1e3", "..%2f..%2fetc%2fpasswd", "%00", "%2e%2e", "a"]


async def test_payloads_are_listed_by_fetch_time_in_pages(http: httpx2.AsyncClient, shop: Any) -> None:
    stores = shop.stores(2)
    ids = [shop.payload(stores[number % 2], {}, hour=number) for number in (3, 0, 4, 1, 2)]
    newest_first = [ids[2], ids[0], ids[4], ids[3], ids[1]]

    seen: list[int] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await http.get("/api/payloads", params={"limit": 2, **cursor})).json()
        seen += [item["id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}

    assert seen == newest_first


async def test_payload_list_of_a_store_contains_only_its_own(http: httpx2.AsyncClient, shop: Any) -> None:
    mine, other = shop.stores(2)
    old, new = (shop.payload(mine, {}, hour=hour) for hour in (1, 2))
    shop.payload(other, {}, hour=3)

    for path in (f"/api/payloads/store/{mine}", f"/api/payloads?store_id={mine}"):
        assert [item["id"] for item in (await http.get(path)).json()["items"]] == [new, old]
    assert (await http.get(f"/api/payloads/store/{mine}/latest")).json()["id"] == new


async def test_payload_response_contains_everything_except_the_file_path(http: httpx2.AsyncClient, shop: Any) -> None:
    payload = shop.payload(shop.store(), {"a": 1}, product_count=5)

    answer = (await http.get(f"/api/payloads/{payload}")).json()

    assert set(answer) == FIELDS | {"dispensary_id"}
    assert (answer["id"], answer["product_count"], answer["size_raw"]) == (payload, 5, 7)


async def test_unknown_id_returns_404(http: httpx2.AsyncClient) -> None:
    for path, kind in UNKNOWN.items():
        answer = await http.get(path)
        assert (answer.status_code, answer.json()["type"]) == (404, f"urn:rolecall:{kind}")


async def test_invalid_id_is_rejected(http: httpx2.AsyncClient) -> None:
    for path in PATHS_WITH_IDS:
        for hostile in HOSTILE:
            answer = await http.get(path.format(hostile))
            assert answer.status_code in {404, 422}, (path, hostile)
            assert answer.headers["content-type"] == "application/problem+json"


async def test_page_with_invalid_parameters_is_rejected(http: httpx2.AsyncClient) -> None:
    for question in ("limit=0", "limit=501", "limit=1e9", "cursor=abc", "cursor=%00", "store_id=x", "store_id=-1"):
        answer = await http.get(f"/api/payloads?{question}")
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")


async def test_replay_enqueues_one_refresh_of_that_payload(http: httpx2.AsyncClient, shop: Any) -> None:
    store = shop.store()
    payload = shop.payload(store, {})

    first = await http.post(f"/api/payloads/{payload}/replay")
    second = await http.post(f"/api/payloads/{payload}/replay")

    [task] = shop.tasks("product_refresh")
    assert (task["payload"], task["key"]) == ({"payload_id": payload, "store_id": store}, f"store:{store}")
    assert (first.status_code, first.headers["location"]) == (201, f"/api/tasks/{task['id']}")
    assert (second.status_code, second.json()) == (200, {"task_id": task["id"], "deduplicated": True})


async def test_replay_of_an_unknown_payload_is_404(http: httpx2.AsyncClient, shop: Any) -> None:
    assert (await http.post("/api/payloads/404/replay")).status_code == 404
    assert shop.tasks("product_refresh") == []


@pytest.mark.usefixtures("direct_route")
async def test_replay_of_an_older_payload_reverts_nothing(
    http: httpx2.AsyncClient, shop: Any, make_document: Any, app: App, database: str, connection: Any
) -> None:
    store = shop.store()
    old = shop.payload(store, make_document(a={"recPrices": [10]}), hour=1)
    new = shop.payload(store, make_document(a={"recPrices": [30]}), hour=2)

    for payload in (new, old):
        await http.post(f"/api/payloads/{payload}/replay")
        await drain(app, database)

    prices = "select price_rec_cents from storecrawl.variants"
    captured = "select price_rec_cents from storecrawl.captured_variants order by captured_at"
    assert connection.execute(prices).fetchall() == [(3000,)]
    assert connection.execute(captured).fetchall() == [(1000,), (3000,)]


async def test_actor_of_a_replay_is_recorded(http: httpx2.AsyncClient, shop: Any, connection: Any) -> None:
    await http.post(f"/api/payloads/{shop.payload(shop.store(), {})}/replay")

    events = connection.execute("select via, action, detail from rolecall.audit_log").fetchall()
    assert events == [("api", "tasks.enqueue", {"handlers": ["product_refresh"], "number": 1})]
