"""The status over HTTP, without a handoff."""

from __future__ import annotations

import httpx2


async def test_status_reports_a_missing_handoff(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/api/status")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "handoff": None})
