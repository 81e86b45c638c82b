"""Rescue: a task held beyond its lease is released once, and a started attempt counts."""

from __future__ import annotations

import pytest

from tests.sql.conftest import Session
from tests.sql.engine import LEASE, TIMEOUT, Engine


def expire(engine: Engine) -> None:
    engine.clock.advance(seconds=LEASE + 1)


def test_an_expired_task_is_pending_again(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.claim_one()
    expire(engine)
    assert engine.task(task_id).status == "stale"

    assert engine.rescue() == {task_id: "pending"}

    task = engine.task(task_id)
    assert (task.attempt, task.worker_id, task.lease_until) == (1, None, None)
    assert task.error == "the lease ran out: its worker crashed, hung or lost the database"
    assert engine.events(task_id) == ["crashed"]


def test_a_lease_that_has_not_run_out_is_left_alone(engine: Engine) -> None:
    engine.enqueue()
    engine.claim_one()
    engine.clock.advance(seconds=LEASE)

    assert engine.rescue() == {}


def test_a_rescue_finds_each_task_once(engine: Engine) -> None:
    engine.enqueue()
    engine.claim_one()
    expire(engine)
    engine.rescue()

    assert engine.rescue() == {}


def test_a_task_that_kills_its_worker_ends_after_its_last_attempt(engine: Engine) -> None:
    """It must not stay running or keep its key."""
    poison = engine.enqueue(key="store", max_attempts=3)
    claims = 0
    while engine.task(poison).state == "pending":
        claims += len(engine.claim())
        expire(engine)
        engine.rescue()
        engine.clock.advance(hours=1)

    assert (claims, engine.task(poison).state) == (3, "failed")
    assert "crashed" in str(engine.task(poison).error)
    engine.enqueue(key="store")
    assert len(engine.claim()) == 1


def test_a_task_over_its_deadline_has_timed_out(engine: Engine) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()
    for _ in range(TIMEOUT // 30 - 1):
        engine.clock.advance(seconds=30)
        assert engine.renew(claim) == {}
    engine.clock.advance(seconds=31)

    assert engine.rescue() == {task_id: "pending"}
    assert engine.events(task_id) == ["timeout"]
    assert engine.task(task_id).error == "the deadline passed"


def test_one_call_rescues_no_more_than_its_limit(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work"}] * 5)
    engine.claim(5)
    expire(engine)

    assert [len(engine.rescue(2)) for _ in range(4)] == [2, 2, 1, 0]


def test_a_task_of_any_role_is_rescued_whoever_lives(engine: Engine) -> None:
    engine.declare({"name": "lonely", "lease": 10})
    task_id = engine.enqueue("lonely")
    engine.claim_one("lonely")
    expire(engine)

    assert engine.rescue() == {task_id: "pending"}


def test_each_task_has_the_lease_of_its_role(engine: Engine) -> None:
    engine.declare({"name": "quick", "lease": 5})
    quick, slow = engine.enqueue("quick"), engine.enqueue()
    engine.claim(2)
    engine.clock.advance(seconds=6)

    assert engine.rescue() == {quick: "pending"}
    assert engine.task(slow).state == "running"


def test_a_rescued_key_is_the_crashed_tasks_again_and_then_the_next_ones(engine: Engine) -> None:
    crashed = engine.enqueue(key="k", max_attempts=2)
    engine.claim_one()
    waiting = engine.enqueue(key="k")
    assert engine.claim() == []
    expire(engine)

    engine.rescue()

    assert [claim.id for claim in engine.claim(2)] == [crashed]
    expire(engine)
    engine.rescue()
    assert engine.claim_one().id == waiting


def test_a_worker_that_beats_and_renews_nothing_keeps_nothing(engine: Engine) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()
    expire(engine)
    engine.rows("select * from rolecall.beat(%s, 1, false)", claim.worker_id)

    assert engine.rescue() == {task_id: "pending"}


def test_two_rescues_share_the_work(engine: Engine, session: Session) -> None:
    engine.enqueue_many([{"role": "work"}] * 4)
    engine.claim(4)
    expire(engine)
    other = session()
    with engine.connection.transaction():
        mine = engine.rescue(3)
        theirs = other.rescue(3)

    assert (len(mine), len(theirs), set(mine) & set(theirs)) == (3, 1, set())


@pytest.mark.parametrize(("moved", "rescued"), [(LEASE, 0), (LEASE + 1, 1)])
def test_after_a_restart_of_the_server_nothing_is_rescued_for_one_lease(
    engine: Engine, moved: int, rescued: int
) -> None:
    engine.enqueue()
    engine.claim_one()
    engine.clock.advance(days=1)
    engine.rows("update rolecall.server_epoch set postmaster_started_at = postmaster_started_at - interval '1 day'")

    assert engine.rescue() == {}
    engine.clock.advance(seconds=moved)
    assert len(engine.rescue()) == rescued


def test_after_a_failover_nothing_is_rescued_for_one_lease(engine: Engine) -> None:
    """A promoted standby has been up longer than the server before it."""
    engine.enqueue()
    claim = engine.claim_one()
    engine.clock.advance(days=1)
    engine.rows("update rolecall.server_epoch set postmaster_started_at = postmaster_started_at + interval '1 day'")
    assert engine.rescue() == {}

    engine.clock.advance(seconds=LEASE - 1)
    engine.renew(claim)
    assert engine.task(claim.id).state == "running"
    assert engine.rescue() == {}


def test_a_server_that_nobody_has_seen_gets_its_lease_of_grace(engine: Engine) -> None:
    engine.enqueue()
    engine.claim_one()
    engine.rows("delete from rolecall.server_epoch")
    engine.clock.advance(days=1)

    assert engine.rescue() == {}
    engine.clock.advance(seconds=LEASE + 1)
    assert len(engine.rescue()) == 1


def test_a_rescued_task_is_due_as_it_was(engine: Engine) -> None:
    task_id = engine.enqueue()
    due = engine.task(task_id).scheduled_for
    engine.claim_one()
    expire(engine)
    engine.rescue()

    assert engine.task(task_id).scheduled_for == due


@pytest.mark.parametrize(("minutes", "rescued"), [(9, 0), (10, 1)])
def test_with_a_threshold_only_what_nobody_has_renewed_for_so_long_is_rescued(
    engine: Engine, minutes: int, rescued: int
) -> None:
    """The lease has expired in both cases."""
    engine.rescue()
    engine.enqueue()
    engine.claim_one()
    engine.clock.advance(minutes=minutes)

    assert len(engine.rows("select * from rolecall.rescue(10, '10 min')")) == rescued


def test_no_threshold_takes_a_task_whose_lease_stands(engine: Engine) -> None:
    engine.rescue()
    engine.enqueue()
    engine.claim_one()
    engine.clock.advance(seconds=LEASE - 1)

    assert engine.rows("select * from rolecall.rescue(10, '0 s')") == []
