"""The status of a task, derived from its row."""

from __future__ import annotations

from tests.sql.engine import LEASE, Engine


def status(engine: Engine, task_id: int) -> str:
    return engine.task(task_id).status


def test_status_is_derived_at_each_stage_of_a_task(engine: Engine) -> None:
    task_id = engine.enqueue(after=10)
    assert status(engine, task_id) == "scheduled"
    engine.clock.advance(seconds=10)
    assert status(engine, task_id) == "ready"
    [claim] = engine.claim(start=0)
    assert status(engine, task_id) == "claimed"
    engine.start(claim)
    assert status(engine, task_id) == "running"
    engine.clock.advance(seconds=LEASE + 1)
    assert status(engine, task_id) == "stale"
    engine.rescue()
    assert status(engine, task_id) == "ready"
    engine.fail(engine.claim_one())
    assert status(engine, task_id) == "retrying"
    engine.clock.advance(hours=1)
    assert status(engine, task_id) == "ready"
    engine.complete(engine.claim_one())
    assert status(engine, task_id) == "completed"


def test_task_waiting_for_a_key_is_parked(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work", "key": "k"}] * 2)
    engine.claim(2)
    engine.claim(2)

    assert [task.status for task in engine.tasks()] == ["running", "parked"]


def test_failed_and_cancelled_tasks_have_the_status_of_their_state(engine: Engine) -> None:
    failed, cancelled = engine.enqueue(), engine.enqueue()
    engine.fail(engine.claim_one(), final=True)
    engine.cancel(cancelled)

    assert (status(engine, failed), status(engine, cancelled)) == ("failed", "cancelled")


def test_view_contains_open_and_finished_tasks(engine: Engine) -> None:
    ids, _ = engine.enqueue_many([{"role": "work"}] * 3)
    engine.complete(engine.claim_one())

    assert [task.id for task in engine.tasks()] == ids


def test_dedupe_key_is_shown_as_it_was_given(engine: Engine) -> None:
    engine.declare(handlers=[{"name": "h", "role": "work"}])
    task_id = engine.enqueue(handler="h", dedupe_key="a/b")
    assert engine.task(task_id).dedupe_key == "a/b"

    engine.complete(engine.claim_one())

    assert engine.task(task_id).dedupe_key == "a/b"
