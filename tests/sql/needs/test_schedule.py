"""Needs and due times: a task waits for its needs and then for its due time, and does not overtake others."""

from __future__ import annotations

from datetime import timedelta

from tests.sql.engine import START, Engine
from tests.sql.families import WORK, finish_off


def test_task_whose_needs_are_met_waits_for_its_due_time(engine: Engine) -> None:
    needed = engine.enqueue()
    task_id = engine.enqueue(needs=[needed], after=60)
    engine.complete(engine.claim_one())

    assert (engine.state(task_id), engine.claim(1)) == ("pending", [])
    engine.clock.advance(seconds=60)
    assert engine.claim_one().id == task_id


def test_task_past_its_due_time_runs_after_its_needs(engine: Engine) -> None:
    needed = engine.enqueue()
    task_id = engine.enqueue(needs=[needed], after=60)
    engine.clock.advance(seconds=3600)

    assert finish_off(engine) == [needed, task_id]


def test_unblocked_task_does_not_overtake_by_its_old_due_time(engine: Engine) -> None:
    needed = engine.enqueue()
    task_id = engine.enqueue(needs=[needed])
    engine.clock.advance(seconds=60)
    others = engine.enqueue_many([WORK] * 2)[0]
    engine.clock.advance(seconds=60)
    engine.complete(engine.claim_one())

    assert [claim.id for claim in engine.claim(3)] == [*others, task_id]
    assert engine.task(task_id).scheduled_for == START + timedelta(seconds=120)


def test_task_that_waited_for_needs_does_not_overtake_others(engine: Engine) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()
    needed = engine.enqueue()
    engine.block(claim, needed)
    engine.clock.advance(seconds=60)
    other = engine.enqueue()
    engine.clock.advance(seconds=60)
    engine.complete(engine.claim_one())

    assert [claim.id for claim in engine.claim(2)] == [other, task_id]


def test_blocked_outcome_can_have_needs_and_a_delay(engine: Engine) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()
    needed = engine.enqueue()
    engine.report(claim, "blocked", needs=[needed], after=60)

    assert finish_off(engine) == [needed]
    engine.clock.advance(seconds=60)
    assert engine.claim_one().id == task_id
