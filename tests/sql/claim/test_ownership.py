"""The properties of a claim: lease, deadline, fence and attempt."""

from __future__ import annotations

import time
from datetime import timedelta

from tests.sql.engine import LEASE, START, TIMEOUT, Engine


def test_claimed_task_has_a_lease_and_a_deadline_immediately(engine: Engine) -> None:
    """A worker can crash between the claim and its first heartbeat."""
    engine.enqueue()
    claim = engine.claim_one()
    task = engine.task(claim.id)

    assert task.lease_until == START + timedelta(seconds=LEASE)
    assert task.deadline_at == START + timedelta(seconds=TIMEOUT)
    assert (claim.lease_seconds, claim.timeout_seconds) == (LEASE, TIMEOUT)
    assert (task.state, task.worker_id, task.claimed_at, task.started_at) == ("running", claim.worker_id, START, START)


def test_lease_and_timeout_of_a_handler_apply_to_its_tasks(engine: Engine) -> None:
    engine.declare(handlers=[{"name": "slow", "role": "work", "lease": 300, "timeout": 7200}])
    engine.enqueue(handler="slow")
    claim = engine.claim_one()

    assert (claim.lease_seconds, claim.timeout_seconds) == (300, 7200)
    assert engine.task(claim.id).deadline_at == START + timedelta(hours=2)


def test_every_claim_increments_the_fence(engine: Engine) -> None:
    """Fences increase even if an attempt is refunded."""
    engine.enqueue(max_attempts=0)
    fences = []
    for give_back in (engine.release, engine.fail, lambda claim: engine.snooze(claim, 0)):
        claim = engine.claim_one()
        fences.append(claim.fence)
        give_back(claim)
        engine.clock.advance(hours=1)

    assert fences == sorted(set(fences))
    assert engine.claim_one().fence > fences[-1]


def test_claim_counts_the_attempt(engine: Engine) -> None:
    engine.enqueue()
    assert engine.claim_one().attempt == 1
    engine.clock.advance(seconds=LEASE + 1)
    engine.rescue()
    engine.clock.advance(hours=1)

    assert engine.claim_one().attempt == 2


def test_claim_contains_all_fields_that_a_worker_needs(engine: Engine) -> None:
    task_id = engine.enqueue(payload={"store": 7}, priority=3, key="k", max_attempts=9)
    claim = engine.claim_one()

    assert (claim.id, claim.role, claim.handler, claim.priority) == (task_id, "work", "work", 3)
    assert (claim.payload, claim.key, claim.max_attempts) == ({"store": 7}, "k", 9)
    assert (claim.chain_id, claim.chain_index, claim.scheduled_for, claim.created_at) == (task_id, 0, START, START)


def test_lease_starts_at_the_claim_not_at_the_start_of_the_transaction(engine: Engine) -> None:
    """now() is constant within a transaction, so leases would be too short."""
    engine.clock.set(START)
    engine.enqueue()
    engine.rows("set rolecall.fake_now = ''")
    with engine.connection.transaction():
        began = engine.value("select transaction_timestamp()")
        time.sleep(0.2)
        claim = engine.claim_one()
        lease = engine.value("select lease_until - %s from rolecall.tasks", began)
    assert lease >= timedelta(seconds=claim.lease_seconds + 0.2)


def test_tasks_of_a_worker_that_reports_starts_are_claimed_but_not_started(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work"}] * 3)
    claims = engine.claim(3, start=1)
    engine.start(claims[0])

    assert [engine.task(claim.id).status for claim in claims] == ["running", "claimed", "claimed"]
