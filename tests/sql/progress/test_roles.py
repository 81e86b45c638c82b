"""The progress of a role: open tasks, and recently finished ones."""

from __future__ import annotations

from rolecall.db.run import run
from rolecall.model.operator.live import RoleProgress
from rolecall.sql import progress
from tests.sql.engine import START, Engine
from tests.sql.families import family


def look(engine: Engine) -> RoleProgress:
    [role] = run(engine.connection, progress.roles())
    return role


def test_open_tasks_of_a_role_are_counted_by_status(engine: Engine) -> None:
    engine.enqueue(after=60)
    engine.enqueue_many([{"role": "work", "key": "one"}] * 2)
    needed = engine.enqueue()
    engine.enqueue(needs=[needed])
    engine.claim(2)

    seen = look(engine)

    assert (seen.scheduled, seen.ready, seen.parked, seen.running, seen.blocked) == (1, 0, 1, 2, 1)


def test_throughput_counts_tasks_finished_within_the_last_minute(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work"}] * 3)
    engine.complete(engine.claim_one())
    engine.clock.advance(seconds=61)
    engine.complete(engine.claim_one())
    engine.cancel(3)

    seen = look(engine)

    assert (seen.completed_last_minute, seen.failed_last_minute, seen.cancelled_last_minute) == (1, 0, 1)


def test_waiting_since_is_the_due_time_of_the_longest_waiting_task(engine: Engine) -> None:
    engine.enqueue(after=30)
    engine.clock.advance(seconds=20)
    engine.enqueue(after=60)
    engine.clock.advance(seconds=20)

    assert (look(engine).waiting_since or START) - START == engine.clock.now() - START - (
        engine.clock.now() - START
    ) * 0.25


def test_running_root_is_current_before_a_pending_one(engine: Engine) -> None:
    waiting, _ = family(engine)
    engine.enqueue(priority=5)

    assert look(engine).current_root == waiting


def test_pending_root_is_current_if_none_is_running(engine: Engine) -> None:
    pending = engine.enqueue()

    assert look(engine).current_root == pending
