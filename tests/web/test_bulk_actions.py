"""Bulk actions over HTTP."""

from __future__ import annotations

import httpx2
import pytest

WHICH = {"action": "cancel", "filter": {"role": "sums"}}


async def test_action_is_previewed_started_listed_and_stopped(http: httpx2.AsyncClient) -> None:
    for _ in range(2):
        await http.post("/api/tasks", json={"handler": "add"})

    preview = (await http.post("/api/bulk/preview", json=WHICH)).json()
    started = await http.post("/api/bulk", json=WHICH)
    action = started.json()

    assert (preview["number"], preview["groups"][0]["handler"]) == (2, "add")
    assert (started.status_code, action["state"], action["total"]) == (201, "waiting", 2)
    assert (await http.get(started.headers["location"])).json() == action
    assert (await http.get("/api/bulk")).json()["items"] == [action]
    assert (await http.post(f"/api/bulk/{action['id']}/stop")).json()["state"] == "withdrawn"
    [entry, _] = (await http.get("/api/audit?kind=bulk")).json()["items"]
    assert entry["detail"] == {"id": action["id"]}


@pytest.mark.parametrize(
    "words", [{"filter": {}}, {"action": "burn"}, {"rate": 5}, {"action": "retry", "rate": 0}, {"delay": -1}]
)
async def test_invalid_action_is_rejected(http: httpx2.AsyncClient, words: dict[str, object]) -> None:
    assert (await http.post("/api/bulk", json=WHICH | words)).status_code == 422


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("POST", "/stop")])
async def test_unknown_action_is_not_found(http: httpx2.AsyncClient, method: str, path: str) -> None:
    answer = await http.request(method, f"/api/bulk/4711{path}")

    assert (answer.status_code, answer.json()["detail"]) == (404, "there is no bulk action 4711")
