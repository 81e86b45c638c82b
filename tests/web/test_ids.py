"""Ids are JSON numbers that are exact as floating-point numbers too."""

from __future__ import annotations

from typing import Any

import httpx2
import psycopg

from tests.web.test_tasks import enqueue, get


async def test_ids_continue_beyond_32_bits(http: httpx2.AsyncClient, connection: psycopg.Connection[Any]) -> None:
    connection.execute("alter table rolecall.tasks alter column id restart with 2147483646")

    ids = [await enqueue(http) for _ in range(4)]

    assert ids == [2147483646, 2147483647, 2147483648, 2147483649]
    assert (await get(http, f"/api/tasks/{ids[-1]}"))["chain_id"] == ids[-1]
    assert [task["id"] for task in (await get(http, "/api/tasks"))["items"]] == ids[::-1]


def test_no_id_exceeds_the_range_of_a_json_number(connection: psycopg.Connection[Any]) -> None:
    query = "select sequencename, max_value from pg_sequences where schemaname = 'rolecall'"

    assert [name for name, most in connection.execute(query).fetchall() if most > 2**53 - 1] == []
