"""The state of a key: its capacity and the source of it, its holders, and the number of waiting tasks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sql.costs import fill
from tests.sql.engine import Engine
from tests.sql.rows_read import rows_read


def keys_now(engine: Engine, *keys: str, most: int = 100) -> list[tuple[Any, ...]]:
    return engine.rows("select * from rolecall.keys_now(%s, %s)", list(keys), most)


def test_unused_key_has_capacity_one(engine: Engine) -> None:
    assert keys_now(engine, "k") == [("k", 1, None, 0, [], 0, 0)]


def test_keys_are_returned_in_the_given_order(engine: Engine) -> None:
    assert [row[0] for row in keys_now(engine, "b", "a", "c")] == ["b", "a", "c"]


def test_holders_and_waiting_tasks_are_counted_separately(engine: Engine) -> None:
    ids, _ = engine.enqueue_many([{"role": "work", "key": "k"}] * 4)
    engine.enqueue(key="k", after=60)
    engine.enqueue(key="other")
    engine.claim(9)

    assert keys_now(engine, "k") == [("k", 1, None, 1, ids[:1], 3, 1)]


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ({"tenant:*": 2, "tenant:7": 5}, (5, "tenant:7")),
        ({"tenant:*": 2, "*": 3}, (2, "tenant:*")),
        ({"tenant:7*": 2, "tenant:*": 3}, (2, "tenant:7*")),
        ({"store:*": 2}, (1, None)),
    ],
)
def test_capacity_is_returned_with_the_pattern_that_sets_it(
    engine: Engine, expected: dict[str, int], answer: tuple[int, str | None]
) -> None:
    for pattern, capacity in expected.items():
        engine.rows("select rolecall.set_key_capacity(%s, %s)", pattern, capacity)

    [(_, capacity, pattern, *_)] = keys_now(engine, "tenant:7")

    assert (capacity, pattern) == answer


def test_ten_holders_are_listed_and_all_are_counted(engine: Engine) -> None:
    engine.rows("select rolecall.set_key_capacity('k', 12)")
    engine.enqueue_many([{"role": "work", "key": "k"}] * 12)
    engine.claim(12)

    [(_, _, _, used, holders, _, _)] = keys_now(engine, "k")

    assert (used, len(holders)) == (12, 10)


def test_waiting_tasks_are_counted_and_read_only_up_to_the_limit(live_engine: Engine) -> None:
    engine = live_engine
    fill(engine, 5_000, key="k")

    assert keys_now(engine, "k", most=10)[0][5] == 10
    assert rows_read(engine, "select * from rolecall.keys_now('{k}', 10)") < 100


def test_busiest_keys_are_those_with_most_due_tasks(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work", "key": key} for key in ("hot", "warm", "hot", "single", "warm", "hot")])
    engine.enqueue_many([{"role": "work", "key": "later", "after": 60}] * 9)

    assert engine.rows("select * from rolecall.busiest_keys(9)") == [("hot", 3), ("warm", 2)]
    assert engine.rows("select key from rolecall.busiest_keys(1)") == [("hot",)]
