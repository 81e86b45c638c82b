"""Capacities of keys over HTTP."""

from __future__ import annotations

from typing import Any

import httpx2
import psycopg
import pytest

from tests.web.test_tasks import get

ADDRESS = "/api/key-capacities"


async def test_capacity_can_be_set_listed_and_reset(http: httpx2.AsyncClient) -> None:
    answers = [(await http.put(ADDRESS, json={"pattern": "a/b:*", "capacity": number})).json() for number in (2, 3)]
    listed = await get(http, ADDRESS)
    answers.append((await http.delete(ADDRESS, params={"pattern": "a/b:*"})).json())

    assert listed == {
        "items": [{"pattern": "a/b:*", "capacity": 3, "declared": None, "set_to": 3}],
        "next_cursor": None,
    }
    assert [(answer["set_to"], answer["before"]) for answer in answers] == [(2, None), (3, 2), (None, 3)]
    assert (await get(http, ADDRESS))["items"] == []


async def test_list_of_capacities_is_paginated(http: httpx2.AsyncClient) -> None:
    for pattern in ("a", "💥" * 200):
        await http.put(ADDRESS, json={"pattern": pattern, "capacity": 2})

    first = await get(http, f"{ADDRESS}?limit=1")
    rest = (await http.get(ADDRESS, params={"cursor": first["next_cursor"]})).json()

    assert [output["pattern"] for output in (*first["items"], *rest["items"])] == ["a", "💥" * 200]


async def test_key_is_shown_with_the_tasks_that_hold_its_permits(
    http: httpx2.AsyncClient, connection: psycopg.Connection[Any]
) -> None:
    for _ in range(2):
        await http.post("/api/tasks", json={"handler": "add", "key": "a/b c"})
    connection.execute(
        "select rolecall.claim(rolecall.register_worker('w', '{}', '{add}', 1, 'h', 1, '0'), '{}', '{add}', 9)"
    )

    result = (await http.get(f"{ADDRESS}/key", params={"key": "a/b c"})).json()

    assert result["key"] | {"holders": None} == {
        "key": "a/b c", "capacity": 1, "pattern": None, "used": 1, "holders": None, "waiting": 1, "later": 0,
        "more": False,
    }  # fmt: skip
    assert [task["status"] for task in result["tasks"]] == ["running"]


@pytest.mark.parametrize(
    "wish",
    [
        {"pattern": "a*b", "capacity": 2},
        {"pattern": "a*", "capacity": 0},
        {"pattern": "a", "capacity": -1},
        {"pattern": "a", "capacity": "2"},
        {"pattern": "a", "capacity": None},
        {"pattern": "", "capacity": 2},
        {"capacity": 2},
    ],
)
async def test_invalid_pattern_or_capacity_is_rejected(http: httpx2.AsyncClient, wish: dict[str, object]) -> None:
    answer = await http.put(ADDRESS, json=wish)

    assert answer.status_code == 422
    assert answer.json()["type"] in {"urn:rolecall:invalid-declaration", "urn:rolecall:invalid-request"}


async def test_busiest_keys_are_returned_with_their_state(http: httpx2.AsyncClient) -> None:
    for _ in range(2):
        await http.post("/api/tasks", json={"handler": "add", "payload": {"a": 1, "b": 2}, "key": "tenant:7"})

    [busiest] = await get(http, f"{ADDRESS}/busiest")

    assert (busiest["key"], busiest["waiting"], busiest["used"], busiest["capacity"]) == ("tenant:7", 2, 0, 1)


@pytest.mark.parametrize("pattern", ["a*b", "", "\0", "x" * 201])
async def test_invalid_pattern_cannot_be_reset(http: httpx2.AsyncClient, pattern: str) -> None:
    assert (await http.delete(ADDRESS, params={"pattern": pattern})).status_code == 422
    assert (await http.get(f"{ADDRESS}/key", params={"key": pattern})).status_code == (200 if pattern == "a*b" else 422)
