"""The pool's health over HTTP."""

from __future__ import annotations

from typing import Any

import httpx2
import psycopg


async def test_doctor_findings_are_returned_over_http(http: httpx2.AsyncClient) -> None:
    await http.post("/api/tasks", json={"handler": "add", "payload": {}})

    answer = (await http.get("/api/doctor")).json()

    assert answer["verdict"] == "trouble"
    assert "stranded_work" in {found["check"] for found in answer["findings"]}
    assert "notifications" in answer["checks"]


async def test_failing_duty_is_reported_over_http(
    http: httpx2.AsyncClient, connection: psycopg.Connection[Any]
) -> None:
    connection.execute("select rolecall.record_duty('test duty', 60, 'w', 'no room left')")
    connection.execute("update rolecall.duties set unfinished_since = unfinished_since - interval '100 s'")

    found = (await http.get("/api/doctor")).json()["findings"]

    assert any("test duty has failed for 10" in each["problem"] and "no room left" in each["problem"] for each in found)
