"""Open tasks per role for external monitoring."""

from __future__ import annotations

from datetime import timedelta

from tests.sql.engine import START, Engine
from tests.sql.families import WORK, spread

COLUMNS = "ready, scheduled, running, blocked, waiting, stuck, waiting_since"


def test_open_tasks_are_counted_by_status(engine: Engine) -> None:
    engine.enqueue()
    spread(engine, engine.claim_one(), WORK)
    engine.claim_one()
    engine.enqueue(after=60)
    ready = engine.enqueue()
    engine.enqueue(needs=[{"task": ready}])

    assert engine.rows(f"select {COLUMNS} from rolecall.pool_gauges()") == [(1, 1, 1, 1, 1, 0, START)]


def test_task_with_five_attempts_is_stuck(engine: Engine) -> None:
    engine.enqueue(max_attempts=0)
    for _ in range(5):
        engine.fail(engine.claim_one(), after=0)

    assert engine.rows("select role, stuck from rolecall.pool_gauges()") == [("work", 1)]


def test_waiting_since_is_the_due_time_of_the_oldest_ready_task(engine: Engine) -> None:
    engine.enqueue()
    engine.clock.set(START + timedelta(minutes=1))
    engine.enqueue()

    assert engine.value("select waiting_since from rolecall.pool_gauges()") == START
