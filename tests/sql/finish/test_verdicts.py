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


def test_an_accepted_report_has_no_verdict(engine: Engine) -> None:
    engine.enqueue()

    assert engine.complete(engine.claim_one()) is None


@pytest.mark.parametrize("outcome", ["completed", "failed", "snoozed", "cancelled"])
def test_the_same_report_again_gives_already(engine: Engine, outcome: str) -> None:
    """A worker repeats the call if its response was lost."""
    engine.enqueue()
    claim = engine.claim_one()
    engine.report(claim, outcome, after=1, error="x", next={"follow_ups": [{"role": "work"}]})
    before = engine.tasks()

    assert engine.report(claim, outcome, after=1, error="x", next={"follow_ups": [{"role": "work"}]}) == "already"

    assert engine.tasks() == before


def test_a_task_that_somebody_else_runs_now_is_taken(engine: Engine) -> None:
    """The second attempt is still running."""
    zombie = rescued(engine)
    engine.clock.advance(hours=1)
    owner = engine.claim_one()

    assert engine.complete(zombie, result="stale") == "taken"

    assert engine.task(owner.id).fence == owner.fence
    assert engine.complete(owner, result="fresh") is None
    assert engine.task(owner.id).result == "fresh"


def test_a_task_that_was_let_go_is_taken(engine: Engine) -> None:
    zombie = rescued(engine)

    assert engine.complete(zombie) == "taken"
    assert engine.task(zombie.id).state == "pending"


def test_a_task_that_somebody_else_completed_is_completed(engine: Engine) -> None:
    zombie = rescued(engine)
    engine.clock.advance(hours=1)
    engine.complete(engine.claim_one(), result="fresh")

    assert engine.complete(zombie, result="stale") == "completed"
    assert engine.task(zombie.id).result == "fresh"


def test_a_task_that_failed_for_its_lost_lease_is_not_the_zombies_own_doing(engine: Engine) -> None:
    engine.enqueue(max_attempts=1)
    zombie = engine.claim_one()
    engine.clock.advance(seconds=LEASE + 1)
    assert engine.rescue() == {zombie.id: "failed"}

    assert engine.complete(zombie) == "completed"
    assert engine.task(zombie.id).state == "failed"


def test_a_task_that_was_cancelled_meanwhile_is_cancelled(engine: Engine) -> None:
    zombie = rescued(engine)
    engine.cancel(zombie.id)

    assert engine.complete(zombie) == "cancelled"


def test_a_report_after_the_claim_was_given_back_is_lost(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()
    engine.release(claim)

    assert engine.complete(claim) == "taken"
    assert engine.task(claim.id).state == "pending"


def test_an_unknown_task_is_deleted(engine: Engine) -> None:
    assert engine.finish(1, {"id": 4711, "fence": 1, "outcome": "completed"}) == {4711: "deleted"}


def test_another_worker_cannot_finish_with_a_guessed_fence(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()

    assert engine.complete(replace(claim, worker_id=engine.worker())) == "taken"
    assert engine.task(claim.id).state == "running"


@pytest.mark.parametrize("step", [-1, 1])
def test_any_other_fence_changes_nothing(engine: Engine, step: int) -> None:
    engine.enqueue()
    claim = engine.claim_one()

    assert engine.complete(replace(claim, fence=claim.fence + step)) == "taken"
    assert engine.task(claim.id).state == "running"


def test_each_report_of_a_batch_gets_its_own_verdict(engine: Engine) -> None:
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


def test_an_empty_batch_says_nothing(engine: Engine) -> None:
    assert engine.finish(engine.worker()) == {}


@pytest.mark.parametrize("outcome", ["completed", "failed", "snoozed", "cancelled"])
def test_a_zombies_report_in_the_same_call_does_not_stand_in_the_way_of_the_owners(
    engine: Engine, outcome: str
) -> None:
    """A worker that claims its lost task again reports both claims at once."""
    engine.enqueue()
    worker = engine.worker()
    zombie = engine.claim_one(worker=worker)
    engine.release(zombie)
    owner = engine.claim_one(worker=worker)

    engine.finish(worker, *(report(claim, outcome, error="x", after=60) for claim in (zombie, owner, owner)))

    assert engine.task(owner.id).state != "running"
