"""The results of `finish`: nothing if accepted, otherwise the reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.sql.engine import LEASE, Claim, Engine, report

End = Callable[[Engine, Claim], object]


def rescued(engine: Engine) -> Claim:
    """Return a claim whose lease expired and whose task was rescued."""
    engine.enqueue()
    claim = engine.claim_one()
    engine.clock.advance(seconds=LEASE + 1)
    assert engine.rescue() == {claim.id: "pending"}
    return claim


def test_accepted_outcome_has_no_verdict(engine: Engine) -> None:
    engine.enqueue()

    assert engine.complete(engine.claim_one()) is None


@pytest.mark.parametrize("outcome", ["completed", "failed", "snoozed", "cancelled"])
def test_repeated_outcome_returns_already(engine: Engine, outcome: str) -> None:
    """A worker repeats the call if its response was lost."""
    engine.enqueue()
    claim = engine.claim_one()
    engine.report(claim, outcome, after=1, error="x", next={"follow_ups": [{"role": "work"}]})
    before = engine.tasks()

    assert engine.report(claim, outcome, after=1, error="x", next={"follow_ups": [{"role": "work"}]}) == "already"

    assert engine.tasks() == before


def test_outcome_for_a_task_claimed_by_another_worker_returns_taken(engine: Engine) -> None:
    """The second attempt is still running."""
    zombie = rescued(engine)
    engine.clock.advance(hours=1)
    owner = engine.claim_one()

    assert engine.complete(zombie, result="stale") == "taken"

    assert engine.task(owner.id).fence == owner.fence
    assert engine.complete(owner, result="fresh") is None
    assert engine.task(owner.id).result == "fresh"


def test_outcome_for_a_released_task_returns_taken(engine: Engine) -> None:
    zombie = rescued(engine)

    assert engine.complete(zombie) == "taken"
    assert engine.task(zombie.id).state == "pending"


def test_outcome_for_a_task_completed_by_another_worker_returns_completed(engine: Engine) -> None:
    zombie = rescued(engine)
    engine.clock.advance(hours=1)
    engine.complete(engine.claim_one(), result="fresh")

    assert engine.complete(zombie, result="stale") == "completed"
    assert engine.task(zombie.id).result == "fresh"


def test_outcome_for_a_task_failed_by_rescue_returns_completed(engine: Engine) -> None:
    engine.enqueue(max_attempts=1)
    zombie = engine.claim_one()
    engine.clock.advance(seconds=LEASE + 1)
    assert engine.rescue() == {zombie.id: "failed"}

    assert engine.complete(zombie) == "completed"
    assert engine.task(zombie.id).state == "failed"


def test_outcome_for_a_cancelled_task_returns_cancelled(engine: Engine) -> None:
    zombie = rescued(engine)
    engine.cancel(zombie.id)

    assert engine.complete(zombie) == "cancelled"


def test_outcome_after_returning_the_claim_is_rejected(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()
    engine.release(claim)

    assert engine.complete(claim) == "taken"
    assert engine.task(claim.id).state == "pending"


def test_outcome_for_an_unknown_task_returns_deleted(engine: Engine) -> None:
    assert engine.finish(1, {"id": 4711, "fence": 1, "outcome": "completed"}) == {4711: "deleted"}


def test_finish_by_another_worker_with_a_guessed_fence_is_rejected(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()

    assert engine.complete(replace(claim, worker_id=engine.worker())) == "taken"
    assert engine.task(claim.id).state == "running"


@pytest.mark.parametrize("step", [-1, 1])
def test_finish_with_any_other_fence_is_rejected(engine: Engine, step: int) -> None:
    engine.enqueue()
    claim = engine.claim_one()

    assert engine.complete(replace(claim, fence=claim.fence + step)) == "taken"
    assert engine.task(claim.id).state == "running"


def test_each_outcome_of_a_batch_has_its_own_verdict(engine: Engine) -> None:
    worker = engine.worker()
    engine.enqueue_many([{"role": "work"}] * 3)
    first, second, third = engine.claim(3, worker=worker)
    engine.complete(first)

    verdicts = engine.finish(
        worker,
        report(third, "failed", error="x"),
        report(first, "completed"),
        report(second, "completed"),
        {"id": 4711, "fence": 1, "outcome": "completed"},
    )

    assert verdicts == {first.id: "already", 4711: "deleted"}
    assert [task.state for task in engine.tasks()] == ["completed", "completed", "pending"]


def test_empty_batch_has_no_verdicts(engine: Engine) -> None:
    assert engine.finish(engine.worker()) == {}


@pytest.mark.parametrize("outcome", ["completed", "failed", "snoozed", "cancelled"])
def test_lost_and_current_claim_can_be_finished_in_one_call(engine: Engine, outcome: str) -> None:
    """A worker that claims its lost task again reports both claims at once."""
    engine.enqueue()
    worker = engine.worker()
    zombie = engine.claim_one(worker=worker)
    engine.release(zombie)
    owner = engine.claim_one(worker=worker)

    engine.finish(worker, *(report(claim, outcome, error="x", after=60) for claim in (zombie, owner, owner)))

    assert engine.task(owner.id).state != "running"
