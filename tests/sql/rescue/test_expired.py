"""Rescue: a task held beyond its lease is released once, and a started attempt counts."""

from __future__ import annotations

import pytest

from tests.sql.conftest import Session
from tests.sql.engine import LEASE, TIMEOUT, Engine


def expire(engine: Engine) -> None:
    engine.clock.advance(seconds=LEASE + 1)


def test_task_with_an_expired_lease_is_pending_again(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.claim_one()
    expire(engine)
    assert engine.task(task_id).status == "stale"

    assert engine.rescue() == {task_id: "pending"}

    task = engine.task(task_id)
    assert (task.attempt, task.worker_id, task.lease_until) == (1, None, None)
    assert task.error == "the lease ran out: its worker crashed, hung or lost the database"
    assert engine.events(task_id) == ["crashed"]


def test_unexpired_lease_is_not_rescued(engine: Engine) -> None:
    engine.enqueue()
    engine.claim_one()
    engine.clock.advance(seconds=LEASE)

    assert engine.rescue() == {}


def test_task_is_rescued_once(engine: Engine) -> None:
    engine.enqueue()
    engine.claim_one()
    expire(engine)
    engine.rescue()

    assert engine.rescue() == {}


def test_task_that_kills_its_worker_fails_after_its_last_attempt(engine: Engine) -> None:
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


def test_task_past_its_deadline_has_timed_out(engine: Engine) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()
    for _ in range(TIMEOUT // 30 - 1):
        engine.clock.advance(seconds=30)
        assert engine.renew(claim) == {}
    engine.clock.advance(seconds=31)

    assert engine.rescue() == {task_id: "pending"}
    assert engine.events(task_id) == ["timeout"]
    assert engine.task(task_id).error == "the deadline passed"


def test_one_call_rescues_at_most_the_limit(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work"}] * 5)
    engine.claim(5)
    expire(engine)

    assert [len(engine.rescue(2)) for _ in range(4)] == [2, 2, 1, 0]


def test_task_of_a_role_without_living_workers_is_rescued(engine: Engine) -> None:
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


def test_crashed_task_takes_its_key_again_before_the_next_one(engine: Engine) -> None:
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


def test_heartbeat_without_renewal_does_not_keep_a_task(engine: Engine) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()
    expire(engine)
    engine.rows("select * from rolecall.beat(%s, 1, false)", claim.worker_id)

    assert engine.rescue() == {task_id: "pending"}


def test_two_concurrent_rescues_share_the_tasks(engine: Engine, session: Session) -> None:
    engine.enqueue_many([{"role": "work"}] * 4)
    engine.claim(4)
    expire(engine)
    other = session()
    with engine.connection.transaction():
        mine = engine.rescue(3)
        theirs = other.rescue(3)

    assert (len(mine), len(theirs), set(mine) & set(theirs)) == (3, 1, set())


@pytest.mark.parametrize(("moved", "rescued"), [(LEASE, 0), (LEASE + 1, 1)])
def test_rescue_pauses_for_one_lease_after_a_server_restart(engine: Engine, moved: int, rescued: int) -> None:
    engine.enqueue()
    engine.claim_one()
    engine.clock.advance(days=1)
    engine.rows("update rolecall.server_epoch set postmaster_started_at = postmaster_started_at - interval '1 day'")

    assert engine.rescue() == {}
    engine.clock.advance(seconds=moved)
    assert len(engine.rescue()) == rescued


def test_rescue_pauses_for_one_lease_after_a_failover(engine: Engine) -> None:
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


def test_rescue_pauses_for_one_lease_on_an_unknown_server(engine: Engine) -> None:
    engine.enqueue()
    engine.claim_one()
    engine.rows("delete from rolecall.server_epoch")
    engine.clock.advance(days=1)

    assert engine.rescue() == {}
    engine.clock.advance(seconds=LEASE + 1)
    assert len(engine.rescue()) == 1


def test_rescued_task_keeps_its_due_time(engine: Engine) -> None:
    task_id = engine.enqueue()
    due = engine.task(task_id).scheduled_for
    engine.claim_one()
    expire(engine)
    engine.rescue()

    assert engine.task(task_id).scheduled_for == due


@pytest.mark.parametrize(("minutes", "rescued"), [(9, 0), (10, 1)])
def test_threshold_limits_rescue_to_leases_expired_for_that_long(engine: Engine, minutes: int, rescued: int) -> None:
    """The lease has expired in both cases."""
    engine.rescue()
    engine.enqueue()
    engine.claim_one()
    engine.clock.advance(minutes=minutes)

    assert len(engine.rows("select * from rolecall.rescue(10, '10 min')")) == rescued


def test_valid_lease_is_not_rescued_with_any_threshold(engine: Engine) -> None:
    engine.rescue()
    engine.enqueue()
    engine.claim_one()
    engine.clock.advance(seconds=LEASE - 1)

    assert engine.rows("select * from rolecall.rescue(10, '0 s')") == []
