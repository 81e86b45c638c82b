"""The safety net that unparks tasks whose key has free capacity."""

from __future__ import annotations

import pytest

from tests.sql.conftest import Session
from tests.sql.engine import Engine


def unpark(engine: Engine, after: str = "", limit: int = 1000) -> tuple[list[int], str | None]:
    [(ids, reached)] = engine.rows("select * from rolecall.unpark(%s, %s)", after, limit)
    return ids, reached


def forget(engine: Engine, *keys: str) -> list[int]:
    """Leave a task of each key parked although no task holds the key, as a bug would; return their ids."""
    ids, _ = engine.enqueue_many([{"role": "work", "key": key} for key in keys])
    engine.rows("update rolecall.tasks set parked = true")
    return ids


def test_wrongly_parked_task_is_unparked_with_an_event(engine: Engine) -> None:
    [task_id] = forget(engine, "k")
    assert engine.claim(5) == []

    assert unpark(engine) == ([task_id], None)

    assert engine.events(task_id) == ["unparked"]
    assert [claim.id for claim in engine.claim(5)] == [task_id]


@pytest.mark.parametrize("has_row", [True, False])
def test_unparking_works_with_and_without_a_key_row(engine: Engine, has_row: bool) -> None:
    [task_id] = forget(engine, "k")
    if has_row:
        engine.rows("insert into rolecall.keys (key) values ('k')")

    assert unpark(engine)[0] == [task_id]


def test_tasks_are_unparked_up_to_the_capacity(engine: Engine) -> None:
    engine.rows("insert into rolecall.keys (key, capacity) values ('k', 2)")
    forgotten = forget(engine, "k", "k", "k")

    assert unpark(engine)[0] == forgotten[:2]


def test_tasks_waiting_for_a_busy_key_stay_parked(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work", "key": "k"}] * 3)
    engine.claim(3)

    assert unpark(engine) == ([], None)
    assert engine.value("select count(*) from rolecall.tasks where parked") == 2


def test_free_permits_of_a_held_key_are_used_without_an_event(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work", "key": "k"}] * 3)
    engine.claim(3)
    engine.rows("insert into rolecall.key_patterns (prefix, capacity) values ('', 2)")

    assert unpark(engine) == ([], None)

    assert engine.value("select count(*) from rolecall.task_events") == 0
    assert len(engine.claim(3)) == 1


@pytest.mark.parametrize(("handler", "expected"), [("work", False), ("other", True)])
def test_task_only_another_handler_could_have_unparked_has_an_event(
    engine: Engine, handler: str, expected: bool
) -> None:
    """A worker that has one handler may lack the other, so that the task would never be claimed."""
    engine.declare(handlers=[{"name": "other", "role": "work"}, {"name": "work", "role": "work"}])
    [task_id] = forget(engine, "k")
    engine.enqueue(key="k", handler=handler)
    engine.rows("insert into rolecall.key_patterns (prefix, capacity) values ('', 2)")

    assert unpark(engine)[0] == ([task_id] if expected else [])
    assert engine.value("select count(*) from rolecall.tasks where parked") == 0


def test_task_is_not_unparked_next_to_an_unparked_one(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work", "key": "k"}] * 3)
    [holder] = engine.claim(3)
    engine.complete(holder)

    assert unpark(engine) == ([], None)


def test_keys_are_processed_in_steps(engine: Engine) -> None:
    first, second, third = forget(engine, "a", "b", "c")

    assert unpark(engine, "", 2) == ([first, second], "b")
    assert unpark(engine, "b", 2) == ([third], None)


@pytest.mark.parametrize(
    "lock",
    [
        "select from rolecall.keys where key = 'a' for update",
        "select from rolecall.tasks where key = 'a' for update",
        "delete from rolecall.keys where key = 'a'; select rolecall.give_key_row('a')",
    ],
)
def test_locked_rows_are_left_to_the_next_call(engine: Engine, session: Session, lock: str) -> None:
    """An open transaction delays neither unrelated tasks nor other duties."""
    first, second = forget(engine, "a", "b")
    engine.rows("insert into rolecall.keys (key) values ('a')")
    other = session()
    other.rows("begin")
    other.rows(lock)
    engine.rows("set lock_timeout = '1s'")

    assert unpark(engine)[0] == [second]
    other.rows("rollback")
    assert unpark(engine)[0] == [first]
