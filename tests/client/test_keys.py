"""Capacities of keys, set by both clients."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from rolecall import App, InvalidDeclaration, KeyCapacity
from tests.client.conftest import Face, Kind

Connection = psycopg.Connection[Any]
SAID = "select pattern, declared, set_to from rolecall.key_capacities()"


async def test_capacity_can_be_set_listed_and_reset(face: Face) -> None:
    await face("set_key_capacity", "tenant:*", 3)
    await face("set_key_capacity", "tenant:7", 10)

    assert await face("key_capacities") == [KeyCapacity("tenant:*", 3, None, 3), KeyCapacity("tenant:7", 10, None, 10)]

    await face("set_key_capacity", "tenant:*", None)
    assert await face("key_capacities") == [KeyCapacity("tenant:7", 10, None, 10)]


async def test_list_is_paginated_by_its_last_pattern(face: Face) -> None:
    for pattern in ("a", "b*", "c"):
        await face("set_key_capacity", pattern, 2)

    first = await face("key_capacities", limit=2)
    rest = await face("key_capacities", after=first[-1].pattern, limit=2)

    assert [result.pattern for result in (*first, *rest)] == ["a", "b*", "c"]


@pytest.mark.parametrize(
    ("pattern", "capacity", "words"),
    [
        ("", 2, "a key has 1 to 200 characters"),
        ("x" * 201, 2, "a key has 1 to 200 characters"),
        ("a*b", 2, "'a*b' has a star before its end: a pattern of keys is a beginning and one star"),
        ("a", -1, "the capacity of 'a' is a number from 0 to 32767, not -1"),
        ("a*", 0, "the capacity of 'a*' is a number from 1 to 32767, not 0"),
        ("a", 32_768, "the capacity of 'a' is a number from 0 to 32767, not 32768"),
    ],
)
async def test_invalid_pattern_or_capacity_is_rejected_with_the_engines_message(
    face: Face, connection: Connection, pattern: str, capacity: int, words: str
) -> None:
    with pytest.raises(InvalidDeclaration) as refused:
        await face("set_key_capacity", pattern, capacity)
    with pytest.raises(psycopg.Error) as refused_there:
        connection.execute("select rolecall.set_key_capacity(%s, %s)", (pattern, capacity))

    assert str(refused.value) == words
    assert refused_there.value.diag.message_primary == words


@pytest.mark.parametrize("capacity", ["3", 2.5, True])
async def test_non_integer_capacity_is_rejected_without_conversion(face: Face, capacity: object) -> None:
    with pytest.raises(InvalidDeclaration, match="a number from 0"):
        await face("set_key_capacity", "a", capacity)


async def test_key_capacities_of_the_app_are_declared_before_its_first_task(
    face: Face, app: App, connection: Connection
) -> None:
    app.keys("tenant:*", capacity=3)

    await face("enqueue", "add", {"a": 1})

    assert connection.execute(SAID).fetchall() == [("tenant:*", 3, None)]


async def test_set_capacity_overrides_the_one_the_app_declares(face: Face, app: App) -> None:
    app.keys("tenant:*", capacity=3)
    await face("set_key_capacity", "tenant:*", 5)

    await face("enqueue", "add", {"a": 1})

    assert await face("key_capacities") == [KeyCapacity("tenant:*", 5, 3, 5)]


async def test_keys_are_not_declared_within_the_callers_transaction(
    kind: Kind, database: str, app: App, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise no task of such a key could finish while the transaction is open."""
    monkeypatch.setenv("DATABASE_URL", "host=127.0.0.1 port=1")
    app.keys("tenant:7", capacity=3)
    face = Face(kind, None, app)
    face.database = database

    async with face.transaction() as own:
        await face("enqueue", "add", {"a": 1}, connection=own)

    assert connection.execute("select name from rolecall.handlers").fetchall() == [("add",)]
    assert connection.execute(SAID).fetchall() == []
