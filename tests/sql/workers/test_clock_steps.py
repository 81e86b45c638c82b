"""A step of the server's clock: no lease ends by it, and deadlines move with it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.sql.engine import LEASE, TIMEOUT, Engine

REPORT = "select rolecall.report_clock_step(%s, %s, %s, %s)"
STEPS = "select clock_steps from rolecall.server_epoch"
ELAPSED = 2.0


@pytest.fixture(autouse=True)
def observed_server(engine: Engine) -> None:
    engine.rescue()


def set_clock(engine: Engine, seconds: float) -> bool:
    """Set the clock and report it, as a process does that read it a second before and a second after."""
    steps = engine.value(STEPS)
    before = engine.clock.now().timestamp()
    after = engine.clock.advance(seconds=seconds).timestamp()
    return bool(engine.value(REPORT, steps, seconds, before + ELAPSED, after - ELAPSED))


def test_task_of_a_living_worker_is_not_rescued_after_a_forward_step(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()

    assert set_clock(engine, 2 * TIMEOUT)

    engine.clock.advance(seconds=LEASE - 1)
    assert engine.rescue() == {}
    assert engine.renew(claim) == {}


def test_task_of_a_dead_worker_is_rescued_one_lease_after_a_forward_step(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.claim_one()
    set_clock(engine, 2 * TIMEOUT)

    engine.clock.advance(seconds=LEASE + 1)

    assert engine.rescue() == {task_id: "pending"}
    assert engine.events(task_id) == ["crashed"]


@pytest.mark.parametrize("seconds", [2 * TIMEOUT, -TIMEOUT])
def test_deadline_moves_with_the_clock(engine: Engine, seconds: float) -> None:
    task_id = engine.enqueue()
    engine.claim_one()
    engine.worker()  # sends a sign of life
    deadline = engine.task(task_id).deadline_at
    assert deadline is not None

    assert set_clock(engine, seconds)

    assert engine.task(task_id).deadline_at == deadline + timedelta(seconds=seconds)


def test_task_of_a_dead_worker_is_rescued_one_lease_after_a_backward_step(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.claim_one()
    set_clock(engine, -TIMEOUT)

    engine.clock.advance(seconds=LEASE + 1)

    assert engine.rescue() == {task_id: "pending"}


def test_claim_made_after_the_step_keeps_its_deadline(engine: Engine) -> None:
    steps = engine.value(STEPS)
    before = engine.clock.now().timestamp()
    after = engine.clock.advance(seconds=TIMEOUT).timestamp()
    task_id = engine.enqueue()
    engine.claim_one()
    deadline = engine.task(task_id).deadline_at

    assert engine.value(REPORT, steps, TIMEOUT, before + ELAPSED, after - ELAPSED)

    assert engine.task(task_id).deadline_at == deadline


def test_step_is_applied_once(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.claim_one()
    set_clock(engine, TIMEOUT)
    deadline = engine.task(task_id).deadline_at
    now = engine.clock.now().timestamp()

    assert not engine.value(REPORT, 0, TIMEOUT, now - TIMEOUT + ELAPSED, now - ELAPSED)

    assert engine.task(task_id).deadline_at == deadline


def test_heartbeat_in_the_skipped_time_contradicts_a_forward_step(engine: Engine) -> None:
    """The process that reports the step was suspended, and the clock went on."""
    worker_id = engine.worker()
    before = engine.clock.now().timestamp()
    engine.clock.advance(seconds=30)
    engine.rows("select * from rolecall.beat(%s, 0, true)", worker_id)
    after = engine.clock.advance(seconds=30).timestamp()

    assert not engine.value(REPORT, 0, 60.0, before + ELAPSED, after - ELAPSED)
    assert engine.value(STEPS) == 0


def test_clock_cannot_be_reported_further_back_than_the_last_sign_of_life(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.claim_one()
    deadline = engine.task(task_id).deadline_at
    now = engine.clock.advance(seconds=1).timestamp()

    assert not engine.value(REPORT, 0, -TIMEOUT, now, now)

    assert engine.task(task_id).deadline_at == deadline
