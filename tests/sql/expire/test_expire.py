"""A task that has not started when it expires is cancelled, with the usual effects on others."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from tests.sql.conftest import Session
from tests.sql.engine import LEASE, START, STEP, Document, Engine
from tests.sql.families import parent_of

SAYS = "it expired at 2026-01-01 00:00:30Z, before it began"


@pytest.fixture
def late(engine: Engine) -> int:
    """A task that has just expired."""
    task_id = engine.enqueue(expires=30)
    engine.clock.advance(seconds=30)
    return task_id


def test_expired_task_is_cancelled_with_an_error_and_an_event(engine: Engine, late: int) -> None:
    assert engine.expire() == {late: "cancelled"}

    task = engine.task(late)
    assert (task.state, task.error, task.attempt) == ("cancelled", SAYS, 0)
    assert task.expires_at == START + timedelta(seconds=30)
    assert engine.events(late) == ["expired"]


def test_task_is_not_expired_before_its_time(engine: Engine) -> None:
    engine.enqueue(expires=30)
    engine.enqueue()
    engine.clock.advance(seconds=29)

    assert engine.expire() == {}


def test_one_call_ends_a_limited_number_starting_with_the_oldest_expiry(engine: Engine) -> None:
    ids = [engine.enqueue(expires=seconds) for seconds in (30, 10, 20)]
    engine.clock.advance(seconds=60)

    assert set(engine.expire(2)) == {ids[1], ids[2]}
    assert set(engine.expire(2)) == {ids[0]}


def test_running_task_does_not_expire(engine: Engine) -> None:
    engine.enqueue(expires=30)
    claim = engine.claim_one()
    engine.clock.advance(seconds=40)

    assert engine.expire() == {}
    assert engine.complete(claim) is None


def test_failed_task_is_not_retried_after_its_expiry(engine: Engine) -> None:
    task_id = engine.enqueue(expires=5)
    engine.fail(engine.claim_one())
    engine.clock.advance(seconds=STEP)

    assert engine.claim(1) == []
    assert engine.expire() == {task_id: "cancelled"}
    assert engine.task(task_id).error == "it expired at 2026-01-01 00:00:05Z, before its next attempt began"
    assert engine.task(task_id).attempt == 1


def test_task_rescued_after_its_expiry_does_not_run_again(engine: Engine) -> None:
    task_id = engine.enqueue(expires=30)
    engine.claim_one()
    engine.clock.advance(seconds=LEASE + 1)

    assert engine.rescue() == {task_id: "pending"}
    assert engine.claim(1) == []
    assert engine.expire() == {task_id: "cancelled"}


def test_blocked_task_expires_and_its_need_completes_normally(engine: Engine) -> None:
    needed = engine.enqueue()
    task_id = engine.enqueue(needs=[needed], expires=30)
    engine.clock.advance(seconds=30)

    assert engine.expire() == {task_id: "cancelled"}
    assert engine.complete(engine.claim_one()) is None


def test_dependent_of_an_expired_task_fails(engine: Engine, late: int) -> None:
    dependent = engine.enqueue(needs=[late])

    engine.expire()

    assert engine.state(dependent) == "failed"


@pytest.mark.parametrize(("words", "state"), [({}, "failed"), ({"on_failure": "ignore"}, "completed")], ids=str)
def test_parent_of_an_expired_child_fails_or_completes_by_its_rule(engine: Engine, words: Document, state: str) -> None:
    parent_id, _ = parent_of(engine, {"role": "work", "expires": 30, **words})
    engine.clock.advance(seconds=30)

    engine.expire()

    assert engine.state(parent_id) == state


def test_gather_step_runs_after_the_expiry(engine: Engine) -> None:
    """The expiry applies to the first start only."""
    parent_id = engine.enqueue(expires=30)
    claim = engine.claim_one()
    engine.complete(claim, next={"children": [{"role": "work"}], "gathers": True})
    engine.clock.advance(seconds=40)

    engine.complete(engine.claim_one())

    assert engine.expire() == {}
    assert engine.claim_one().id == parent_id


def test_next_task_of_the_key_is_claimed_after_an_expired_one(engine: Engine) -> None:
    engine.enqueue(key="k")
    holder = engine.claim_one()
    best, next_one = engine.enqueue(key="k", expires=30), engine.enqueue(key="k")
    assert engine.claim(1) == []
    engine.complete(holder)
    assert [engine.task(task_id).status for task_id in (best, next_one)] == ["ready", "parked"]
    engine.clock.advance(seconds=30)

    engine.expire()

    assert engine.claim_one().id == next_one


def test_expired_task_frees_its_dedupe_key(engine: Engine) -> None:
    first = engine.enqueue(dedupe_key="d", expires=30)
    engine.clock.advance(seconds=30)
    engine.expire()

    assert engine.enqueue(dedupe_key="d") != first


def test_retry_by_an_operator_removes_the_expiry(engine: Engine, late: int) -> None:
    engine.expire()

    assert engine.retry(late) == {late: "pending"}
    assert engine.task(late).expires_at is None
    engine.clock.advance(hours=1)
    assert engine.claim_one().id == late


def test_locked_task_is_left_to_the_next_call(engine: Engine, session: Session) -> None:
    locked, free = engine.enqueue(expires=30), engine.enqueue(expires=30)
    engine.clock.advance(seconds=30)
    other = session()
    with other.connection.transaction():
        other.rows("select from rolecall.tasks where id = %s for update", locked)
        assert engine.expire() == {free: "cancelled"}

    assert engine.expire() == {locked: "cancelled"}


def test_task_with_a_locked_parent_does_not_delay_others(engine: Engine, session: Session) -> None:
    parent_id, [child] = parent_of(engine, {"role": "work", "expires": 30})
    free = engine.enqueue(expires=30)
    engine.clock.advance(seconds=30)
    other = session()
    with other.connection.transaction():
        other.rows("select from rolecall.tasks where id = %s for update", parent_id)
        assert engine.expire() == {free: "cancelled"}

    assert engine.expire() == {child: "cancelled"}


def test_expire_requires_read_committed(engine: Engine, late: int) -> None:
    with engine.connection.transaction(force_rollback=True):
        engine.rows("set transaction isolation level repeatable read")
        with pytest.raises(psycopg.Error, match="read committed"):
            engine.expire()

    assert engine.state(late) == "pending"


def test_expiry_duty_is_due_when_a_task_expires(engine: Engine) -> None:
    look = "select due, next_in from rolecall.look_at_duties('{expiry}', 'me')"
    assert engine.value("select rolecall.take_duty('expiry', 60, 'me')")
    engine.enqueue(expires=30)

    assert engine.rows(look) == [([], 30)]
    engine.clock.advance(seconds=30)
    [(due, _)] = engine.rows(look)
    assert due == ["expiry"]
