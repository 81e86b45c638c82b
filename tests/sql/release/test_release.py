"""Releases, for example at shutdown: the task is pending again immediately and its attempt is refunded."""

from __future__ import annotations

import pytest

from tests.sql.engine import Engine


def test_released_task_is_claimable_immediately_and_keeps_its_attempt(engine: Engine) -> None:
    engine.enqueue()
    engine.release(engine.claim_one())

    again = engine.claim_one()

    assert (again.attempt, again.fence > 1) == (1, True)


def test_ten_releases_are_refunded_and_the_eleventh_spends_an_attempt(engine: Engine) -> None:
    """Repeated deployments must not retry a task endlessly."""
    engine.enqueue()
    for _ in range(10):
        engine.release(engine.claim_one())
    assert engine.tasks()[0].attempt == 0

    engine.release(engine.claim_one())

    assert engine.tasks()[0].attempt == 1


def test_repeated_releases_end_in_failure(engine: Engine) -> None:
    task_id = engine.enqueue(max_attempts=2, retry={"kind": "linear", "step": 0})
    for _ in range(12):
        engine.release(engine.claim_one())

    assert engine.task(task_id).state == "failed"
    assert engine.task(task_id).error == "its worker was stopped, or cut off, while it ran"


def test_release_frees_the_key(engine: Engine) -> None:
    engine.enqueue(key="k")
    claim = engine.claim_one()
    urgent = engine.enqueue(key="k", priority=1)
    assert engine.claim() == []

    engine.release(claim)

    assert engine.claim_one().id == urgent


def test_lost_claim_releases_nothing(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()
    engine.release(claim)
    owner = engine.claim_one()

    assert engine.release(claim) == {claim.id: "taken"}
    assert engine.task(owner.id).state == "running"


@pytest.mark.parametrize("start", [0, None])
def test_release_is_refunded_whether_started_or_not(engine: Engine, start: int | None) -> None:
    engine.enqueue()
    [claim] = engine.claim(start=start)

    assert engine.release(claim) == {}
    assert engine.task(claim.id).attempt == 0
    assert engine.events(claim.id) == ["shutdown" if start is None else "returned"]
