"""Renewals: longer leases for owned tasks, and the reason for others."""

from __future__ import annotations

from datetime import timedelta

from tests.sql.conftest import Session
from tests.sql.engine import LEASE, START, TIMEOUT, Engine


def test_renewal_starts_a_new_lease_from_now(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()
    engine.clock.advance(seconds=20)

    assert engine.renew(claim) == {}
    assert engine.task(claim.id).lease_until == START + timedelta(seconds=20 + LEASE)


def test_one_call_renews_all_claims(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work"}] * 3)
    claims = engine.claim(3)
    engine.clock.advance(seconds=30)

    assert engine.renew(*claims) == {}
    assert {task.lease_until for task in engine.tasks()} == {START + timedelta(seconds=30 + LEASE)}


def test_expired_lease_is_renewed_if_the_task_was_not_rescued(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()
    engine.clock.advance(seconds=LEASE + 1)

    assert engine.renew(claim) == {}
    assert engine.rescue() == {}


def test_lease_is_not_renewed_beyond_the_deadline(engine: Engine) -> None:
    """A handler that hangs is not kept alive by its worker's heartbeat."""
    engine.enqueue()
    claim = engine.claim_one()
    engine.clock.advance(seconds=TIMEOUT - 10)

    assert engine.renew(claim) == {}
    assert engine.task(claim.id).lease_until == START + timedelta(seconds=TIMEOUT)


def test_renewal_past_the_deadline_returns_timeout_and_keeps_the_claim(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()
    engine.clock.advance(seconds=TIMEOUT)

    assert engine.renew(claim) == {claim.id: "timeout"}
    assert engine.fail(claim, "too long", reason="timeout") is None
    assert engine.events(claim.id) == ["timeout"]


def test_cancelled_task_is_not_renewed(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()
    engine.cancel(claim.id)
    engine.clock.advance(seconds=20)

    assert engine.renew(claim) == {claim.id: "cancelled"}
    assert engine.task(claim.id).lease_until == START + timedelta(seconds=LEASE)


def test_lost_claim_renews_nothing(engine: Engine) -> None:
    """A late heartbeat must not extend the lease of the new owner."""
    engine.enqueue()
    zombie = engine.claim_one()
    engine.clock.advance(seconds=LEASE + 1)
    engine.rescue()
    engine.clock.advance(hours=1)
    owner = engine.claim_one()
    lease_until = engine.task(owner.id).lease_until
    engine.clock.advance(seconds=5)

    assert engine.renew(zombie) == {zombie.id: "taken"}
    assert engine.task(owner.id).lease_until == lease_until


def test_renewal_after_completion_returns_completed(engine: Engine) -> None:
    """Renewals do not return `already`."""
    engine.enqueue()
    claim = engine.claim_one()
    engine.complete(claim)

    assert engine.renew(claim) == {claim.id: "completed"}


def test_unknown_task_is_reported_as_deleted(engine: Engine) -> None:
    assert dict(engine.rows("select * from rolecall.renew(1, '{4711}', '{1}')")) == {4711: "deleted"}


def test_renewing_no_claims_returns_nothing(engine: Engine) -> None:
    assert engine.rows("select * from rolecall.renew(1, '{}', '{}')") == []


def test_claim_whose_row_is_locked_is_busy_and_keeps_its_lease(engine: Engine, session: Session) -> None:
    held, free = engine.enqueue_many([{"role": "work"}] * 2)[0]
    worker = engine.worker()
    engine.claim(2, worker=worker)
    before = engine.task(held).lease_until
    engine.clock.advance(seconds=10)
    other = session()
    with other.connection.transaction():
        other.rows("select from rolecall.tasks where id = %s for update", held)
        answer = dict(engine.rows("select * from rolecall.renew(%s, %s, '{1,1}')", worker, [held, free]))

    assert answer == {held: "busy"}
    assert engine.task(held).lease_until == before
    assert engine.task(free).lease_until > before
