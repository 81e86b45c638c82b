"""Handlers over HTTP."""

from __future__ import annotations

from typing import Any

import httpx2
import psycopg

from tests.web.test_tasks import get

DECLARE = """
    select rolecall.declare('[]', '[{"name": "weigh", "role": "scales", "description": "In grams", "timeout": 90,
    "max_attempts": 0, "signature": {"type": "object"}}]')
"""


async def test_handlers_are_listed_by_role_with_their_payload_schemas(
    http: httpx2.AsyncClient, connection: psycopg.Connection[Any]
) -> None:
    connection.execute(DECLARE)

    handler = (await get(http, "/api/handlers"))[0]

    assert handler == await get(http, "/api/handlers/weigh")
    assert (handler["name"], handler["role"], handler["description"]) == ("weigh", "scales", "In grams")
    assert (handler["timeout"], handler["max_attempts"], handler["lease"]) == (90.0, 0, None)
    assert handler["signature"] == {"type": "object"}


async def test_missing_handler_is_not_found_and_a_similar_name_is_suggested(http: httpx2.AsyncClient) -> None:
    answer = await http.get("/api/handlers/ad")

    assert (answer.status_code, answer.json()["type"]) == (404, "urn:rolecall:handler-not-found")
    assert "did you mean 'add'" in answer.json()["detail"]
