"""Saved views over HTTP."""

from __future__ import annotations

import httpx2

from tests.web.test_tasks import get


async def test_view_is_saved_read_changed_and_deleted(http: httpx2.AsyncClient) -> None:
    saved = await http.post("/api/views", json={"name": "late", "query": "age>1h"})
    path = saved.headers["location"]
    changed = await http.put(path, json={"name": "very late"})

    assert (saved.status_code, saved.json()["query"]) == (201, "age>1h")
    assert changed.json() == {**saved.json(), "name": "very late"}
    assert await get(http, path) == changed.json()
    assert (await http.delete(path)).status_code == 204
    assert (await get(http, "/api/views"))["items"] == []


async def test_unusable_views_are_refused(http: httpx2.AsyncClient) -> None:
    await http.post("/api/views", json={"name": "late", "query": "age>1h"})
    bodies = [{"name": "late", "query": "age>2h"}, {"name": "x" * 61, "query": "a"}, {"name": "x", "query": "age>soon"}]

    answers = [await http.post("/api/views", json=body) for body in bodies]

    assert [answer.status_code for answer in answers] == [409, 422, 422]
    assert "soon" in answers[2].json()["detail"]
