"""Needs and due times: a task waits for its needs and then for its due time, and does not overtake others."""

from __future__ import annotations

from datetime import timedelta

from tests.sql.engine import START, Engine
from tests.sql.families import WORK, finish_off


def test_a_task_whose_needs_are_met_still_waits_for_its_moment(engine: Engine) -> None:
    needed = engine.enqueue()
    task_id = engine.enqueue(needs=[needed], after=60)
    engine.complete(engine.claim_one())

    assert (engine.state(task_id), engine.claim(1)) == ("pending", [])
    engine.clock.advance(seconds=60)
    assert engine.claim_one().id == task_id


def test_a_moment_that_has_passed_does_not_wait_for_the_needs(engine: Engine) -> None:
    needed = engine.enqueue()
    task_id = engine.enqueue(needs=[needed], after=60)
    engine.clock.advance(seconds=3600)

    assert finish_off(engine) == [needed, task_id]


def test_a_task_that_was_blocked_does_not_jump_the_queue_by_its_old_date(engine: Engine) -> None:
    needed = engine.enqueue()
    task_id = engine.enqueue(needs=[needed])
    engine.clock.advance(seconds=60)
    others = engine.enqueue_many([WORK] * 2)[0]
    engine.clock.advance(seconds=60)
    engine.complete(engine.claim_one())

    assert [claim.id for claim in engine.claim(3)] == [*others, task_id]
    assert engine.task(task_id).scheduled_for == START + timedelta(seconds=120)


def test_a_task_that_waited_for_others_during_its_run_does_not_jump_the_queue(engine: Engine) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()
    needed = engine.enqueue()
    engine.block(claim, needed)
    engine.clock.advance(seconds=60)
    other = engine.enqueue()
    engine.clock.advance(seconds=60)
    engine.complete(engine.claim_one())

    assert [claim.id for claim in engine.claim(2)] == [other, task_id]


def test_a_task_may_ask_for_needs_and_a_moment(engine: Engine) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()
    needed = engine.enqueue()
    engine.report(claim, "blocked", needs=[needed], after=60)

    assert finish_off(engine) == [needed]
    engine.clock.advance(seconds=60)
    assert engine.claim_one().id == task_id
