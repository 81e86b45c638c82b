"""Cancelling tasks that are not running."""

from __future__ import annotations

from tests.sql.engine import Engine


def test_a_pending_task_is_cancelled_at_once(engine: Engine) -> None:
    task_id = engine.enqueue()

    assert engine.cancel(task_id) == {task_id: "cancelled"}

    assert engine.task(task_id).state == "cancelled"
    assert engine.claim() == []


def test_a_task_due_later_is_cancelled_too(engine: Engine) -> None:
    task_id = engine.enqueue(after=3600)

    assert engine.cancel(task_id) == {task_id: "cancelled"}


def test_what_has_ended_is_left_alone(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.complete(engine.claim_one())

    assert engine.cancel(task_id) == {task_id: "finished"}

    assert engine.task(task_id).state == "completed"


def test_an_unknown_id_is_missing(engine: Engine) -> None:
    assert engine.cancel(4711) == {4711: "missing"}


def test_each_id_of_a_batch_gets_its_own_answer(engine: Engine) -> None:
    done, running, pending = engine.enqueue(), engine.enqueue(), engine.enqueue()
    engine.complete(engine.claim_one())
    engine.claim_one()

    answers = engine.cancel(pending, 4711, running, done)

    assert answers == {pending: "cancelled", 4711: "missing", running: "requested", done: "finished"}


def test_cancelling_the_task_that_was_brought_back_brings_back_the_next(engine: Engine) -> None:
    engine.enqueue(key="k")
    holder = engine.claim_one()
    head, next_one = engine.enqueue(key="k"), engine.enqueue(key="k")
    assert engine.claim(5) == []
    engine.complete(holder)
    assert engine.task(head).status == "ready"

    engine.cancel(head)

    assert engine.claim_one().id == next_one


def test_cancelling_a_parked_task_leaves_the_key_to_its_holder(engine: Engine) -> None:
    engine.enqueue(key="k")
    engine.claim_one()
    parked, other = engine.enqueue(key="k"), engine.enqueue(key="k")
    assert engine.claim(5) == []

    engine.cancel(parked)

    assert engine.claim(5) == []
    assert engine.task(other).state == "pending"


def test_a_cancelled_task_frees_its_dedupe_key(engine: Engine) -> None:
    first = engine.enqueue(dedupe_key="d")
    engine.cancel(first)

    assert engine.enqueue(dedupe_key="d") != first
