"""Cancelling running tasks: a request that takes effect when the claim ends."""

from __future__ import annotations

import pytest

from tests.sql.engine import LEASE, Engine


def test_cancelling_a_running_task_requests_cancellation(engine: Engine) -> None:
    """The worker keeps the task until its handler has stopped."""
    task_id = engine.enqueue()
    claim = engine.claim_one()

    assert engine.cancel(task_id) == {task_id: "requested"}

    assert engine.task(task_id).state == "running"
    assert engine.renew(claim) == {task_id: "cancelled"}


def test_second_request_keeps_the_time_of_the_first(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.claim_one()
    engine.cancel(task_id)
    asked_at = engine.task(task_id).cancel_requested_at
    engine.clock.advance(seconds=5)

    assert engine.cancel(task_id) == {task_id: "requested"}

    assert engine.task(task_id).cancel_requested_at == asked_at


def test_task_completed_after_a_cancel_request_is_completed(engine: Engine) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()
    engine.cancel(task_id)

    assert engine.complete(claim, result=1) is None

    assert engine.task(task_id).state == "completed"


@pytest.mark.parametrize("outcome", ["cancelled", "failed", "snoozed"])
def test_task_with_a_cancel_request_does_not_run_again(engine: Engine, outcome: str) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()
    engine.cancel(task_id)

    engine.report(claim, outcome, error="stopped", after=1)

    assert engine.task(task_id).state == "cancelled"
    assert engine.task(task_id).error == "stopped"


def test_returning_a_cancelled_task_ends_it(engine: Engine) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()
    engine.cancel(task_id)

    engine.release(claim)

    assert engine.task(task_id).state == "cancelled"


def test_cancelled_task_of_a_dead_worker_is_cancelled(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.claim_one()
    engine.cancel(task_id)
    engine.clock.advance(seconds=LEASE + 1)

    assert engine.rescue() == {task_id: "cancelled"}


def test_cancel_requested_task_that_fails_finally_is_failed(engine: Engine) -> None:
    task_id = engine.enqueue(max_attempts=1)
    claim = engine.claim_one()
    engine.cancel(task_id)

    engine.fail(claim)

    assert engine.task(task_id).state == "failed"


def test_cancel_notification_contains_the_worker_id(engine: Engine) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()
    engine.rows("listen rolecall_cancel")

    engine.cancel(task_id)

    [notice] = engine.connection.notifies(timeout=30, stop_after=1)
    assert (notice.channel, notice.payload) == ("rolecall_cancel", str(claim.worker_id))
