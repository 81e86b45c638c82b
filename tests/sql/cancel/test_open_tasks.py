"""Cancelling tasks that are not running."""

from __future__ import annotations

from tests.sql.engine import Engine


def test_pending_task_is_cancelled_immediately(engine: Engine) -> None:
    task_id = engine.enqueue()

    assert engine.cancel(task_id) == {task_id: "cancelled"}

    assert engine.task(task_id).state == "cancelled"
    assert engine.claim() == []


def test_scheduled_task_is_cancelled(engine: Engine) -> None:
    task_id = engine.enqueue(after=3600)

    assert engine.cancel(task_id) == {task_id: "cancelled"}


def test_finished_task_is_not_cancelled(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.complete(engine.claim_one())

    assert engine.cancel(task_id) == {task_id: "finished"}

    assert engine.task(task_id).state == "completed"


def test_unknown_id_is_reported_as_missing(engine: Engine) -> None:
    assert engine.cancel(4711) == {4711: "missing"}


def test_each_id_of_a_batch_gets_its_own_answer(engine: Engine) -> None:
    done, running, pending = engine.enqueue(), engine.enqueue(), engine.enqueue()
    engine.complete(engine.claim_one())
    engine.claim_one()

    answers = engine.cancel(pending, 4711, running, done)

    assert answers == {pending: "cancelled", 4711: "missing", running: "requested", done: "finished"}


def test_cancelling_an_unparked_task_unparks_the_next_one(engine: Engine) -> None:
    engine.enqueue(key="k")
    holder = engine.claim_one()
    head, next_one = engine.enqueue(key="k"), engine.enqueue(key="k")
    assert engine.claim(5) == []
    engine.complete(holder)
    assert engine.task(head).status == "ready"

    engine.cancel(head)

    assert engine.claim_one().id == next_one


def test_cancelling_a_parked_task_does_not_release_the_key(engine: Engine) -> None:
    engine.enqueue(key="k")
    engine.claim_one()
    parked, other = engine.enqueue(key="k"), engine.enqueue(key="k")
    assert engine.claim(5) == []

    engine.cancel(parked)

    assert engine.claim(5) == []
    assert engine.task(other).state == "pending"


def test_cancelled_task_frees_its_dedupe_key(engine: Engine) -> None:
    first = engine.enqueue(dedupe_key="d")
    engine.cancel(first)

    assert engine.enqueue(dedupe_key="d") != first
