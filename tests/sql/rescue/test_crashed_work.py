"""A task lost with its worker keeps its position in the queue until it becomes a suspect."""

from __future__ import annotations

from tests.sql.engine import STEP, Engine


def crash(engine: Engine) -> int:
    """Claim the next task and make its worker die; return the task id."""
    claim = engine.claim_one()
    engine.rows("select rolecall.rescue_workers(%s)", [claim.worker_id])
    return claim.id


def order(engine: Engine) -> list[int]:
    return list(engine.claim_all())


def test_crashed_task_runs_before_later_ones(engine: Engine) -> None:
    crashed = engine.enqueue()
    engine.clock.advance(seconds=1)
    later = engine.enqueue()

    assert crash(engine) == crashed

    assert order(engine) == [crashed, later]


def test_higher_priority_task_runs_before_a_crashed_one(engine: Engine) -> None:
    """A crash does not change the position of a task."""
    crashed = engine.enqueue()
    crash(engine)
    urgent = engine.enqueue(priority=1)
    also_later = engine.enqueue()

    assert order(engine) == [urgent, crashed, also_later]


def test_failed_task_waits_for_its_retry(engine: Engine) -> None:
    failing = engine.enqueue()
    engine.fail(engine.claim_one())
    later = engine.enqueue()

    assert order(engine) == [later]
    engine.clock.advance(seconds=STEP)
    assert order(engine) == [failing]


def test_task_with_an_expired_lease_runs_before_later_ones(engine: Engine) -> None:
    crashed = engine.enqueue()
    engine.claim_one()
    engine.clock.advance(minutes=2)
    later = engine.enqueue()
    engine.rescue()

    assert order(engine) == [crashed, later]


def test_task_past_its_deadline_does_not_run_before_later_ones(engine: Engine) -> None:
    """The task took too long; its worker did not die."""
    engine.enqueue(timeout=5)
    engine.claim_one()
    engine.clock.advance(minutes=2)
    later = engine.enqueue()
    engine.rescue()

    assert order(engine) == [later]


def test_suspect_waits_like_after_an_error(engine: Engine) -> None:
    """It may be what kills the workers, and must not keep them from other tasks."""
    suspect = engine.enqueue(max_attempts=5)
    later = engine.enqueue()

    assert [crash(engine) for _ in range(3)] == [suspect] * 3

    assert engine.task(suspect).attempt == 3
    assert order(engine) == [later]
    engine.clock.advance(seconds=3 * STEP)
    assert order(engine) == [suspect]


def test_crashes_are_limited_by_max_attempts(engine: Engine) -> None:
    task_id = engine.enqueue(max_attempts=2)
    crash(engine)
    crash(engine)

    assert engine.task(task_id).state == "failed"


def test_task_without_retries_fails_after_a_crash(engine: Engine) -> None:
    task_id = engine.enqueue(retry={"kind": "none"})
    crash(engine)

    assert engine.task(task_id).state == "failed"
