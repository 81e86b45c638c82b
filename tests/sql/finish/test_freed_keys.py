"""Finishing a task frees its key and unparks the next task."""

from __future__ import annotations

import pytest

from tests.sql.engine import Claim, Engine, report


@pytest.fixture
def holder(engine: Engine) -> Claim:
    """The claim of a task that holds the key `store`."""
    engine.enqueue(key="store")
    return engine.claim_one()


def park(engine: Engine, *ids: int) -> None:
    assert engine.claim(len(ids)) == []
    assert [engine.task(task_id).status for task_id in ids] == ["parked"] * len(ids)


def test_best_parked_task_is_unparked(engine: Engine, holder: Claim) -> None:
    later, urgent = engine.enqueue(key="store"), engine.enqueue(key="store", priority=5)
    park(engine, later, urgent)

    engine.complete(holder)

    assert engine.task(urgent).status == "ready"
    assert engine.task(later).status == "parked"


@pytest.mark.parametrize("ending", ["completed", "failed", "snoozed", "cancelled"])
def test_every_outcome_frees_the_key(engine: Engine, holder: Claim, ending: str) -> None:
    waiting = engine.enqueue(key="store")
    park(engine, waiting)

    engine.report(holder, ending, error="x", after=100)

    assert engine.claim_one().id == waiting


def test_better_task_that_is_due_later_does_not_block_a_due_one(engine: Engine, holder: Claim) -> None:
    due, later = engine.enqueue(key="store"), engine.enqueue(key="store", priority=9, after=3600)
    park(engine, due)
    assert engine.task(later).status == "scheduled"

    engine.complete(holder)

    assert engine.claim_one().id == due


def test_better_task_of_another_role_does_not_block_this_role(engine: Engine, holder: Claim) -> None:
    engine.declare({"name": "idle"})
    here, there = engine.enqueue(key="store"), engine.enqueue("idle", key="store", priority=9)
    park(engine, here, there)

    engine.complete(holder)

    assert engine.claim_one("work").id == here


def test_better_task_that_no_worker_can_run_does_not_block_its_role(engine: Engine, holder: Claim) -> None:
    engine.declare(handlers=[{"name": "gone", "role": "work"}])
    known, unknown = engine.enqueue(key="store"), engine.enqueue(handler="gone", key="store", priority=9)
    park(engine, known, unknown)

    engine.complete(holder)

    assert [claim.id for claim in engine.claim(1, handlers=["work"])] == [known]


def test_key_is_free_for_a_new_task_after_the_last_one(engine: Engine, holder: Claim) -> None:
    engine.complete(holder)
    fresh = engine.enqueue(key="store")

    assert engine.claim_one().id == fresh


def test_freeing_several_keys_unparks_one_task_of_each(engine: Engine) -> None:
    for key in ("a", "b"):
        engine.enqueue(key=key)
    worker = engine.worker()
    claims = engine.claim(2, worker=worker)
    waiting = [engine.enqueue(key=key) for key in ("a", "a", "b", "b")]
    park(engine, *waiting)

    engine.finish(worker, *({"id": c.id, "fence": c.fence, "outcome": "completed"} for c in claims))

    assert [claim.id for claim in engine.claim(4)] == [waiting[0], waiting[2]]


def test_freeing_two_permits_by_different_outcomes_unparks_two_tasks(engine: Engine) -> None:
    engine.rows("select rolecall.set_key_capacity('store', 2)")
    for _ in range(2):
        engine.enqueue(key="store", max_attempts=1)
    worker = engine.worker()
    completed, failed = engine.claim(2, worker=worker)
    first, second, third = (engine.enqueue(key="store") for _ in range(3))
    park(engine, first, second, third)

    engine.finish(worker, report(completed, "completed"), report(failed, "failed", error="x"))

    assert [engine.task(task_id).status for task_id in (first, second, third)] == ["ready", "ready", "parked"]
