"""A batch of tasks: its order, its result, and its atomicity."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.engine import Engine


def test_empty_batch_stores_nothing(engine: Engine) -> None:
    assert engine.enqueue_many([]) == ([], [])


@pytest.mark.parametrize("number", [3, 50, 2000])
@pytest.mark.parametrize("roles", [1, 3])
def test_ids_ascend_in_batch_order(engine: Engine, number: int, roles: int) -> None:
    """Claims are ordered by id, so the first of a batch must have the lowest id."""
    engine.declare(handlers=[{"name": f"h{n}", "role": "work"} for n in range(roles)])

    ids, _ = engine.enqueue_many([{"handler": f"h{n % roles}"} for n in range(number)])

    assert ids == sorted(ids)
    assert len(set(ids)) == number


def test_ids_are_returned_in_input_order(engine: Engine) -> None:
    known = engine.enqueue(dedupe_key="b")

    ids, deduplicated = engine.enqueue_many([{"role": "work", "dedupe_key": key} for key in ("c", "b", "a")])

    assert ids[1] == known
    assert deduplicated == [known]
    assert [engine.task(task_id).dedupe_key for task_id in ids] == ["c", "b", "a"]


def test_one_invalid_task_rejects_the_whole_batch_and_is_named(engine: Engine) -> None:
    with pytest.raises(psycopg.Error, match="task 1: priority 101 is not between") as refusal:
        engine.enqueue_many([{"role": "work"}, {"role": "work", "priority": 101}])

    assert refusal.value.sqlstate == "RC040"
    assert engine.tasks() == []


def test_batch_adds_each_line_once(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work", "priority": n % 2} for n in range(10)])

    assert engine.rows("select priority from rolecall.lines order by priority") == [(0,), (1,)]


@pytest.mark.parametrize("batch", [{}, "work", 1, None])
def test_non_array_is_rejected(engine: Engine, batch: object) -> None:
    with pytest.raises(psycopg.Error) as refusal:
        engine.enqueue_many(batch)

    assert refusal.value.sqlstate == "RC040"


@pytest.mark.parametrize("item", [[1, 2], "work", 1, None])
def test_non_object_item_is_rejected(engine: Engine, item: object) -> None:
    with pytest.raises(psycopg.Error) as refusal:
        engine.enqueue_many([item])

    assert refusal.value.sqlstate in {"RC031", "RC040", "22023"}
    assert engine.tasks() == []
