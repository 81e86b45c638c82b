"""A running task adds needs: it frees its slot and waits for them."""

from __future__ import annotations

import pytest

from tests.sql.engine import Engine
from tests.sql.families import WORK, finish_off, parent_of, spread
from tests.sql.refusals import refused


def test_running_task_that_needs_others_waits_without_a_slot(engine: Engine) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()
    needed = engine.enqueue()
    assert engine.block(claim, needed) is None
    task = engine.task(task_id)

    assert (task.state, task.open_needs, task.worker_id, task.lease_until) == ("blocked", 1, None, None)
    assert finish_off(engine) == [needed, task_id]


def test_waiting_for_needs_does_not_spend_an_attempt(engine: Engine) -> None:
    task_id = engine.enqueue(max_attempts=1)
    claim = engine.claim_one()
    needed = engine.enqueue()
    engine.block(claim, needed)
    blocked_attempt = engine.task(task_id).attempt
    engine.complete(engine.claim_one())

    assert (blocked_attempt, engine.claim_one().attempt) == (0, 1)


def test_task_whose_new_needs_have_all_finished_is_pending_immediately(engine: Engine) -> None:
    needed = engine.enqueue()
    engine.complete(engine.claim_one())
    task_id = engine.enqueue()
    engine.block(engine.claim_one(), needed)

    assert engine.claim_one().id == task_id


def test_task_with_a_failed_new_need_fails(engine: Engine) -> None:
    needed = engine.enqueue()
    engine.fail(engine.claim_one(), final=True)
    task_id = engine.enqueue()
    engine.block(engine.claim_one(), needed)

    assert engine.state(task_id) == "failed"


def test_new_needs_are_stored_after_the_old_ones(engine: Engine) -> None:
    first, second = engine.enqueue_many([WORK, WORK])[0]
    task_id = engine.enqueue(needs=[second])
    for claim in engine.claim(2):
        engine.complete(claim)
    engine.block(engine.claim_one(), {"task": first, "name": "late"})

    assert engine.rows("select position, needed_id from rolecall.needs where task_id = %s order by 1", task_id) == [
        (1, second),
        (2, first),
    ]


def test_task_can_wait_for_needs_repeatedly(engine: Engine) -> None:
    task_id = engine.enqueue()
    for _ in range(3):
        claim = engine.claim_one()
        engine.block(claim, engine.enqueue())
        engine.complete(engine.claim_one())

    assert engine.claim_one().id == task_id


def test_running_task_can_need_younger_tasks_and_their_chains(engine: Engine) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()
    engine.block(claim, {"chain": engine.enqueue(), "name": "menu"})
    engine.complete(engine.claim_one(), next={"continuation": WORK})

    assert engine.state(task_id) == "blocked"
    engine.complete(engine.claim_one())
    assert engine.claim_one().id == task_id


def test_waiting_for_needs_frees_the_key(engine: Engine) -> None:
    engine.enqueue(key="store")
    other = engine.enqueue(key="store")
    claim = engine.claim_one()
    engine.block(claim, engine.enqueue(after=60))

    assert engine.claim_one().id == other


def test_repeated_blocked_outcome_returns_already(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()
    needed = engine.enqueue()
    engine.block(claim, needed)

    assert engine.block(claim, needed) == "already"
    assert len(engine.rows("select from rolecall.needs")) == 1


def test_cancel_requested_task_does_not_wait_for_needs(engine: Engine) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()
    engine.cancel(task_id)
    engine.block(claim, engine.enqueue())

    assert engine.state(task_id) == "cancelled"


@pytest.mark.parametrize("needs", [[404], [{"task": "x"}], [{"item": 0}], [None], 7], ids=str)
def test_invalid_need_is_rejected_and_changes_nothing(engine: Engine, needs: object) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()

    with refused("RC040"):
        engine.report(claim, "blocked", needs=needs)
    assert engine.state(task_id) == "running"


@pytest.mark.parametrize("needs", [None, []])
def test_blocked_outcome_without_needs_is_rejected(engine: Engine, needs: object) -> None:
    """The task would be claimed again immediately, endlessly."""
    engine.enqueue()

    with refused("RC042", "it names no needs"):
        engine.report(engine.claim_one(), "blocked", needs=needs)


def test_need_positions_can_exceed_the_smallint_limit(engine: Engine) -> None:
    task_id, other = engine.enqueue(), engine.enqueue()
    claim = engine.claim_one()
    engine.rows(
        "insert into rolecall.needs (task_id, position, needed_id, whole_chain, on_failure, outcome)"
        " values (%s, 32767, 1, false, 'fail', 'completed')",
        task_id,
    )

    assert engine.block(claim, other) is None
    assert engine.value("select max(position) from rolecall.needs") == 32768


def test_gather_step_can_wait_for_needs(engine: Engine) -> None:
    parent_id, _ = parent_of(engine, WORK, gathers=True)
    engine.complete(engine.claim_one())
    claim = engine.claim_one()
    engine.block(claim, engine.enqueue())
    engine.complete(engine.claim_one())
    again = engine.claim_one()

    assert (again.id, again.step) == (parent_id, 1)


def test_children_of_a_blocked_task_are_counted_when_they_finish(engine: Engine) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()
    [child] = engine.spawn(task_id, WORK)
    needed = engine.enqueue()
    engine.block(claim, needed)
    finish_off(engine, needed, task_id)

    assert (engine.state(child), engine.state(task_id)) == ("completed", "blocked")
    assert engine.task(task_id).open_children == 0


def test_blocked_child_is_awaited_by_its_parent(engine: Engine) -> None:
    parent_id = engine.enqueue()
    spread(engine, engine.claim_one(), WORK)
    claim = engine.claim_one()
    needed = engine.enqueue(after=60)
    engine.block(claim, needed)

    assert engine.state(parent_id) == "waiting"
    engine.clock.advance(seconds=60)
    finish_off(engine)
    assert engine.state(parent_id) == "completed"
