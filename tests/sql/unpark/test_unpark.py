"""The net below all that brings parked tasks back: what is parked though its key has room."""

from __future__ import annotations

import pytest

from tests.sql.engine import Engine


def unpark(engine: Engine, after: str = "", limit: int = 1000) -> tuple[list[int], str | None]:
    [(ids, reached)] = engine.rows("select * from rolecall.unpark(%s, %s)", after, limit)
    return ids, reached


def forget(engine: Engine, *keys: str) -> list[int]:
    """Leave a task of each key parked though nothing holds the key, as a bug would; return them."""
    ids, _ = engine.enqueue_many([{"role": "work", "key": key} for key in keys])
    engine.rows("update rolecall.tasks set parked = true")
    return ids


def test_a_forgotten_task_is_brought_back_and_says_so(engine: Engine) -> None:
    """Covers invariant 32."""
    [task_id] = forget(engine, "k")
    assert engine.claim(5) == []

    assert unpark(engine) == ([task_id], None)

    assert engine.events(task_id) == ["unparked"]
    assert [claim.id for claim in engine.claim(5)] == [task_id]


@pytest.mark.parametrize("has_row", [True, False])
def test_it_makes_no_difference_whether_the_key_has_a_row(engine: Engine, has_row: bool) -> None:
    [task_id] = forget(engine, "k")
    if has_row:
        engine.rows("insert into rolecall.keys (key) values ('k')")

    assert unpark(engine)[0] == [task_id]


def test_only_as_many_come_back_as_there_is_room_for(engine: Engine) -> None:
    engine.rows("insert into rolecall.keys (key, capacity) values ('k', 2)")
    forgotten = forget(engine, "k", "k", "k")

    assert unpark(engine)[0] == forgotten[:2]


def test_what_waits_for_a_busy_key_stays_parked(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work", "key": "k"}] * 3)
    engine.claim(3)

    assert unpark(engine) == ([], None)
    assert engine.value("select count(*) from rolecall.tasks where parked") == 2


def test_what_is_brought_back_already_is_not_joined_by_the_next(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work", "key": "k"}] * 3)
    [holder] = engine.claim(3)
    engine.complete(holder)

    assert unpark(engine) == ([], None)


def test_it_goes_through_the_keys_in_steps(engine: Engine) -> None:
    first, second, third = forget(engine, "a", "b", "c")

    assert unpark(engine, "", 2) == ([first, second], "b")
    assert unpark(engine, "b", 2) == ([third], None)
