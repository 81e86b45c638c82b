"""The Python client and the SQL functions reject the same input."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolecall import Client, InvalidTask, NewTask
from rolecall.db.run import run
from rolecall.sql import roles
from rolecall.sql.statement import Statement, single

Connection = psycopg.Connection[Any]

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=20)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=10,
)


@pytest.fixture
def client(database: str, connection: Connection) -> Iterator[Client]:
    run(connection, roles.declare([{"name": "r", "max_payload_bytes": 1024}], []))
    with Client(database) as client:
        yield client


def through_sql(connection: Connection, item: str) -> None:
    query = "select ids[1] from rolecall.enqueue_many(%s::jsonb)"
    run(connection, Statement(query=query, params=(f"[{item}]",), read=single))


def exact(value: object) -> object:
    """The same numbers as decimals: the database keeps the digits of 3e20, but calls it an integer."""
    return json.loads(json.dumps(value), parse_float=Decimal, parse_int=Decimal)


BAD = {
    "nan": ({"payload": {"a": math.nan}}, '{"role":"r","payload":{"a":NaN}}'),
    "infinity": ({"payload": {"a": [math.inf]}}, '{"role":"r","payload":{"a":[Infinity]}}'),
    "nul": ({"payload": {"a": "\0"}}, '{"role":"r","payload":{"a":"\\u0000"}}'),
    "nul in a key": ({"payload": {"b": {"a\0": 1}}}, '{"role":"r","payload":{"b":{"a\\u0000":1}}}'),
    "surrogate": ({"payload": {"a": "\ud800"}}, '{"role":"r","payload":{"a":"\\ud800"}}'),
    "list": ({"payload": [1]}, '{"role":"r","payload":[1]}'),
    "text": ({"payload": "x"}, '{"role":"r","payload":"x"}'),
    "number as a key": ({"payload": {1: 2}}, '{"role":"r","payload":{1:2}}'),
    "oversize": ({"payload": {"a": "x" * 2000}}, json.dumps({"role": "r", "payload": {"a": "x" * 2000}})),
    "priority": ({"priority": 101}, '{"role":"r","priority":101}'),
    "half a priority": ({"priority": 1.5}, '{"role":"r","priority":1.5}'),
    "huge priority": ({"priority": 2**40}, f'{{"role":"r","priority":{2**40}}}'),
    "long key": ({"key": "k" * 201}, json.dumps({"role": "r", "key": "k" * 201})),
    "empty key": ({"key": ""}, '{"role":"r","key":""}'),
    "long dedupe_key": ({"dedupe_key": "k" * 201}, json.dumps({"role": "r", "dedupe_key": "k" * 201})),
    "negative attempts": ({"max_attempts": -1}, '{"role":"r","max_attempts":-1}'),
    "absurd delay": ({"after": math.inf}, '{"role":"r","after":Infinity}'),
    "absurd date": (None, '{"role":"r","scheduled_for":"99999-01-01T00:00:00Z"}'),
    "no date": (None, '{"role":"r","scheduled_for":"soon"}'),
    "no policy": (None, '{"role":"r","retry":{"kind":"sometimes"}}'),
}


@pytest.mark.parametrize("options", [bad for bad, _ in BAD.values() if bad], ids=[n for n in BAD if BAD[n][0]])
def test_python_client_rejects_invalid_options(client: Client, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidTask):
        client.enqueue(NewTask(role="r", **options))


@pytest.mark.parametrize("item", [item for _, item in BAD.values()], ids=list(BAD))
def test_sql_function_rejects_invalid_options(client: Client, connection: Connection, item: str) -> None:
    with pytest.raises(InvalidTask):
        through_sql(connection, item)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(payload=st.dictionaries(ANY_TEXT, ANY_JSON, max_size=3), key=st.none() | ANY_TEXT)
def test_any_payload_is_stored_unchanged_or_rejected(client: Client, payload: dict[str, Any], key: str | None) -> None:
    try:
        stored = client.enqueue(NewTask(role="r", payload=payload, key=key))
    except InvalidTask:
        return

    task = client.get(stored.id)
    assert (exact(task.payload), task.key) == (exact(payload), key)


def test_past_time_schedules_the_task_immediately(client: Client, connection: Connection) -> None:
    through_sql(connection, '{"role":"r","scheduled_for":"1971-01-01T00:00:00Z"}')
    through_sql(connection, '{"role":"r","after":-5}')

    rows = connection.execute("select distinct status from rolecall.all_tasks").fetchall()
    assert rows == [("ready",)]
