"""The pool's health over HTTP."""

from __future__ import annotations

import httpx2


async def test_the_doctor_answers_over_http(http: httpx2.AsyncClient) -> None:
    await http.post("/api/tasks", json={"handler": "add", "payload": {}})

    answer = (await http.get("/api/doctor")).json()

    assert answer["verdict"] == "trouble"
    assert "stranded_work" in {found["check"] for found in answer["findings"]}
    assert "notifications" in answer["checks"]
