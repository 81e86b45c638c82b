"""One session at a time processes the keys in order, and starts again a minute after the last pass."""

from __future__ import annotations

from tests.sql.conftest import Session
from tests.sql.engine import Engine


def unpark_due(engine: Engine, limit: int = 1000) -> list[tuple[list[int], bool]]:
    """Return the tasks that one step unparked and whether the pass continues; empty before the next pass is due."""
    return [(ids, more) for ids, more in engine.rows("select ids, more from rolecall.unpark_due(%s)", limit)]


def forget(engine: Engine, *keys: str) -> list[int]:
    """Leave a task of each key parked although no task holds the key, as a bug would; return their ids."""
    ids, _ = engine.enqueue_many([{"role": "work", "key": key} for key in keys])
    engine.rows("update rolecall.tasks set parked = true where id = any(%s)", ids)
    return ids


def test_pass_continues_where_it_stopped_in_any_session(engine: Engine, session: Session) -> None:
    first, second, third = forget(engine, "a", "b", "c")

    assert unpark_due(engine, 2) == [([first, second], True)]
    [again] = forget(engine, "a")
    assert unpark_due(session(), 2) == [([third], False)]

    assert engine.rows("select id from rolecall.tasks where parked") == [(again,)]


def test_next_pass_begins_a_minute_after_the_last_one_finished(engine: Engine) -> None:
    assert unpark_due(engine) == [([], False)]
    [task_id] = forget(engine, "a")
    engine.clock.advance(seconds=59)
    assert unpark_due(engine) == []

    engine.clock.advance(seconds=1)

    assert unpark_due(engine) == [([task_id], False)]


def test_two_sessions_never_run_a_pass_together(engine: Engine, session: Session) -> None:
    other = session()
    other.rows("begin")
    unpark_due(other)
    engine.rows("set lock_timeout = '1s'")

    assert unpark_due(engine) == []
