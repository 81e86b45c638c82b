"""Errors are problem documents with the status of the error table."""

from __future__ import annotations

import httpx2

from tests.outage import read_only


async def test_response_is_json(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/api/roles")

    assert answer.status_code == 200
    assert [role["name"] for role in answer.json()] == ["sums"]


async def test_unknown_path_returns_a_problem_document(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/api/rolls")

    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"] == "urn:rolecall:not-found"


async def test_read_only_database_returns_503(http: httpx2.AsyncClient, database: str) -> None:
    with read_only(database):
        refused = await http.post("/api/tasks", json={"handler": "add", "payload": {}})
        shown = await http.get("/api/roles")
    stored = await http.post("/api/tasks", json={"handler": "add", "payload": {}})

    assert (refused.status_code, refused.json()["type"]) == (503, "urn:rolecall:database-read-only")
    assert (shown.status_code, stored.status_code) == (200, 201)
