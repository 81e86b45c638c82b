"""Operators retry blocked tasks and the tasks that they need."""

from __future__ import annotations

from tests.sql.engine import Engine
from tests.sql.families import WORK, finish_off


def test_a_cancelled_blocked_task_that_comes_back_waits_for_its_needs(engine: Engine) -> None:
    needed = engine.enqueue()
    task_id = engine.enqueue(needs=[needed])
    engine.cancel(task_id)
    engine.retry(task_id)

    assert (engine.state(task_id), engine.task(task_id).open_needs) == ("blocked", 1)
    assert finish_off(engine) == [needed, task_id]


def test_a_cancelled_blocked_task_does_not_wait_for_needs_that_ended_meanwhile(engine: Engine) -> None:
    needed = engine.enqueue()
    task_id = engine.enqueue(needs=[needed])
    engine.cancel(task_id)
    engine.complete(engine.claim_one())
    engine.retry(task_id)

    assert engine.state(task_id) == "pending"
    assert engine.rows("select outcome::text from rolecall.needs") == [("completed",)]


def test_a_task_and_what_it_needs_that_are_retried_together_run_in_order(engine: Engine) -> None:
    ids, _ = engine.enqueue_many([WORK, *({**WORK, "needs": [{"item": n}]} for n in range(2))])
    engine.fail(engine.claim_one(), final=True)
    engine.retry(*reversed(ids))

    assert finish_off(engine) == ids


def test_a_task_whose_failed_need_is_still_failed_runs_when_it_is_retried(engine: Engine) -> None:
    """The retry by an operator overrides the failed need."""
    engine.enqueue()
    task_id = engine.enqueue(needs=[1])
    engine.fail(engine.claim_one(), final=True)
    engine.retry(task_id)

    assert engine.claim_one().id == task_id


def test_a_task_that_ran_after_an_ignored_failure_does_not_wait_for_it_again(engine: Engine) -> None:
    engine.enqueue()
    task_id = engine.enqueue(needs=[{"task": 1, "on_failure": "ignore"}])
    engine.fail(engine.claim_one(), final=True)
    engine.fail(engine.claim_one(), final=True)
    engine.retry(1, task_id)

    assert sorted(engine.claim_all()) == [1, task_id]
