"""Operators retry blocked tasks and the tasks that they need."""

from __future__ import annotations

from tests.sql.engine import Engine
from tests.sql.families import WORK, finish_off


def test_retried_blocked_task_waits_for_its_needs(engine: Engine) -> None:
    needed = engine.enqueue()
    task_id = engine.enqueue(needs=[needed])
    engine.cancel(task_id)
    engine.retry(task_id)

    assert (engine.state(task_id), engine.task(task_id).open_needs) == ("blocked", 1)
    assert finish_off(engine) == [needed, task_id]


def test_retried_blocked_task_does_not_wait_for_needs_that_have_finished(engine: Engine) -> None:
    needed = engine.enqueue()
    task_id = engine.enqueue(needs=[needed])
    engine.cancel(task_id)
    engine.complete(engine.claim_one())
    engine.retry(task_id)

    assert engine.state(task_id) == "pending"
    assert engine.rows("select outcome::text from rolecall.needs") == [("completed",)]


def test_task_retried_together_with_its_need_runs_after_it(engine: Engine) -> None:
    ids, _ = engine.enqueue_many([WORK, *({**WORK, "needs": [{"item": n}]} for n in range(2))])
    engine.fail(engine.claim_one(), final=True)
    engine.retry(*reversed(ids))

    assert finish_off(engine) == ids


def test_retried_task_runs_although_its_need_is_still_failed(engine: Engine) -> None:
    """The retry by an operator overrides the failed need."""
    engine.enqueue()
    task_id = engine.enqueue(needs=[1])
    engine.fail(engine.claim_one(), final=True)
    engine.retry(task_id)

    assert engine.claim_one().id == task_id


def test_retried_task_does_not_wait_again_for_an_ignored_need(engine: Engine) -> None:
    engine.enqueue()
    task_id = engine.enqueue(needs=[{"task": 1, "on_failure": "ignore"}])
    engine.fail(engine.claim_one(), final=True)
    engine.fail(engine.claim_one(), final=True)
    engine.retry(1, task_id)

    assert sorted(engine.claim_all()) == [1, task_id]
