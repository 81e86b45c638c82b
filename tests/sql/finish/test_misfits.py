"""Incompatible tasks are returned unspent, not offered to the same signature again, and fail in the end."""

from __future__ import annotations

from tests.sql.engine import Claim, Engine


def worker(engine: Engine, *intakes: str) -> int:
    """Register a worker of a release."""
    worker_id = engine.worker()
    engine.rows("select rolecall.tell_intakes(%s, %s)", worker_id, list(intakes))
    return worker_id


def give_back(engine: Engine, claim: Claim, intake: str) -> None:
    engine.report(claim, "misfit", error="no such field", intake=intake)


def test_incompatible_task_is_claimed_by_workers_with_another_signature_only(engine: Engine) -> None:
    old, new = worker(engine, "old"), worker(engine, "new", "other")
    task_id = engine.enqueue()
    give_back(engine, engine.claim_one(worker=old), "old")

    assert (engine.state(task_id), engine.task(task_id).attempt) == ("pending", 0)
    assert engine.claim(worker=old) == []
    assert engine.claim(worker=worker(engine, "old", "else")) == []
    assert [claim.id for claim in engine.claim(worker=new)] == [task_id]


def test_incompatible_task_is_not_due_for_workers_that_cannot_read_it(engine: Engine) -> None:
    old, new = worker(engine, "old"), worker(engine, "new")
    engine.enqueue()
    give_back(engine, engine.claim_one(worker=old), "old")

    def due(worker_id: int) -> object:
        return engine.value("select rolecall.next_due_for(%s, '{}', '{work}')", worker_id)

    assert (due(old), due(new)) == (None, 0)


def test_task_returned_twice_by_the_same_signature_fails(engine: Engine) -> None:
    task_id = engine.enqueue()
    give_back(engine, engine.claim_one(), "old")
    give_back(engine, engine.claim_one(), "old")

    assert engine.state(task_id) == "failed"


def test_task_that_six_signatures_cannot_read_fails(engine: Engine) -> None:
    task_id = engine.enqueue(max_attempts=1)
    for release in range(5):
        give_back(engine, engine.claim_one(), f"release {release}")
    assert engine.state(task_id) == "pending"

    give_back(engine, engine.claim_one(), "one more")

    assert engine.state(task_id) == "failed"


def test_incompatible_task_fails_after_an_hour(engine: Engine) -> None:
    task_id = engine.enqueue()
    give_back(engine, engine.claim_one(), "old")

    engine.clock.advance(minutes=59)
    assert engine.rescue() == {}
    engine.clock.advance(minutes=2)

    assert engine.rescue() == {task_id: "failed"}
