"""Task filters, pages and bulk actions."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.web.test_tasks import enqueue, get

HOSTILE = [
    "' or 1=1 --",
    "'; drop table rolecall.tasks; --",
    "\0",
    "%00",
    "\\",
    "%",
    "_",
    "$1",
    "%s",
    "{}",
    "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
    "x" * 200,
    "NaN",
    "null",
    "[]",
    "1" * 100,
]
FILTERS = {
    "/api/chains": ["state", "role", "handler", "cursor", "limit"],
    "/api/audit": ["actor", "action", "cursor", "limit"],
    "/api/tasks": [
        *("ids", "state", "status", "role", "handler", "key", "worker", "chain", "parent", "roots", "text"),
        *("created_from", "created_to", "finished_from", "finished_to", "cursor", "limit", "sort"),
    ],
}


async def found(http: httpx2.AsyncClient, **query: str | int | list[int]) -> list[int]:
    answer = await http.get("/api/tasks", params=query)
    assert answer.status_code == 200, answer.text
    return [task["id"] for task in answer.json()["items"]]


async def bulk(http: httpx2.AsyncClient, action: str, **body: object) -> Any:
    answer = await http.post(f"/api/tasks/{action}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_tasks_are_listed_in_pages_without_their_payloads(http: httpx2.AsyncClient) -> None:
    ids = [await enqueue(http) for _ in range(3)]

    first = await get(http, "/api/tasks?limit=2")
    second = await get(http, f"/api/tasks?limit=2&cursor={first['next_cursor']}")

    assert [task["id"] for task in first["items"] + second["items"]] == ids[::-1]
    assert second["next_cursor"] is None
    assert first["items"][0]["retry_count"] == 0
    assert not {"payload", "result"} & first["items"][0].keys()


async def test_tasks_can_be_filtered_by_each_field(http: httpx2.AsyncClient) -> None:
    """Covers type, status, ids, roots and time."""
    plain = await enqueue(http)
    other = await enqueue(http, handler="stumble", key="store:7", priority=3, payload={"name": "Nadel"})
    await http.post(f"/api/tasks/{plain}/fail", json={"error": "no"})

    assert await found(http, handler="stumble") == [other]
    assert await found(http, key="store:7") == [other]
    assert await found(http, text="nadel") == [other]
    assert await found(http, state="failed") == [plain]
    assert await found(http, status="ready") == [other]
    assert await found(http, chain=plain) == [plain]
    assert await found(http, ids=[plain, 4711]) == [plain]
    assert await found(http, parent=plain) == []
    assert await found(http, worker=1) == []
    assert await found(http, roots=True, role="sums") == [other, plain]
    assert await found(http, finished_from="2020-01-01T00:00:00Z") == [plain]
    assert await found(http, created_to="2020-01-01T00:00:00Z") == []


async def test_undeclared_role_has_no_tasks(http: httpx2.AsyncClient) -> None:
    assert await found(http, role="nobody") == []


@pytest.mark.parametrize("path", FILTERS)
async def test_filter_values_are_treated_as_plain_text(http: httpx2.AsyncClient, path: str) -> None:
    task_id = await enqueue(http)

    answers = [await http.get(path, params={name: text}) for name in FILTERS[path] for text in HOSTILE]

    assert {answer.status_code for answer in answers} <= {200, 422}
    assert await found(http) == [task_id]


@pytest.mark.parametrize("query", ["state=odd", "state=ready&status=failed", "created_from=2026-01-01", "sort=id"])
async def test_invalid_filter_is_rejected(http: httpx2.AsyncClient, query: str) -> None:
    assert (await http.get(f"/api/tasks?{query}")).status_code == 422


async def test_many_tasks_can_be_retried_in_bulk(http: httpx2.AsyncClient) -> None:
    ids = [await enqueue(http) for _ in range(3)]
    for task_id in ids:
        await http.post(f"/api/tasks/{task_id}/fail", json={"error": "no"})

    tried = await bulk(http, "retry", filter={"state": "failed"}, limit=2, dry_run=True)
    assert (tried["matched"], tried["more"], tried["outcomes"], tried["ids"]) == (2, True, {}, ids[:0:-1])
    assert await found(http, state="failed") == ids[::-1]

    done = await bulk(http, "retry", filter={"state": "failed"})
    assert (done["matched"], done["outcomes"]) == (3, {"pending": 3})


async def test_many_tasks_can_be_cancelled_and_deleted(http: httpx2.AsyncClient) -> None:
    for _ in range(2):
        await enqueue(http)

    assert (await bulk(http, "cancel", filter={"role": "sums"}))["outcomes"] == {"cancelled": 2}
    assert (await bulk(http, "delete", filter={"state": "cancelled"}))["outcomes"] == {"deleted": 2}
    assert await found(http) == []


@pytest.mark.parametrize(
    "body", [{}, {"filter": {}}, {"filter": {"chain": True}}, {"filter": {"role": "sums"}, "limit": 1e9}], ids=str
)
async def test_bulk_action_without_a_selection_is_rejected(http: httpx2.AsyncClient, body: object) -> None:
    await enqueue(http)

    assert (await http.post("/api/tasks/delete", json=body)).status_code == 422
    assert len(await found(http)) == 1


async def test_children_are_listed(http: httpx2.AsyncClient) -> None:
    task_id = await enqueue(http)

    assert await get(http, f"/api/tasks/{task_id}/children") == {"items": [], "next_cursor": None}
    assert (await http.get("/api/tasks/4711/children")).status_code == 404


async def test_query_selects_tasks_together_with_parameters(http: httpx2.AsyncClient) -> None:
    for store in (57, 58):
        await http.post("/api/tasks", json={"handler": "add", "payload": {"a": store, "b": 2}, "key": f"shop:{store}"})

    found = (await http.get("/api/tasks", params={"q": "payload.a:58 state:ready", "handler": "add"})).json()

    assert [task["key"] for task in found["items"]] == ["shop:58"]


@pytest.mark.parametrize("query", ["rol:mail", "role:sums", "x" * 1_001])
async def test_invalid_or_contradicting_query_is_rejected(http: httpx2.AsyncClient, query: str) -> None:
    answer = await http.get("/api/tasks", params={"q": query, "role": "other"})

    assert answer.status_code == 422


async def test_bulk_action_selects_tasks_by_a_query(http: httpx2.AsyncClient) -> None:
    for store in (57, 58):
        await http.post("/api/tasks", json={"handler": "add", "payload": {"a": store, "b": 2}})

    preview = await http.post("/api/bulk/preview", json={"action": "cancel", "filter": {"q": "payload.a:58"}})

    assert preview.json()["number"] == 1
