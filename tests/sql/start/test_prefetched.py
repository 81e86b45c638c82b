"""Starting prefetched tasks."""

from __future__ import annotations

from datetime import timedelta

from tests.sql.conftest import Session
from tests.sql.engine import LEASE, START, Engine


def test_prefetched_task_is_claimed_and_then_running(engine: Engine) -> None:
    engine.enqueue()
    [claim] = engine.claim(start=0)
    assert engine.task(claim.id).status == "claimed"
    engine.clock.advance(seconds=3)

    assert engine.start(claim) == {}

    task = engine.task(claim.id)
    assert (task.status, task.started_at) == ("running", START + timedelta(seconds=3))


def test_second_start_keeps_the_time_of_the_first(engine: Engine) -> None:
    engine.enqueue()
    [claim] = engine.claim(start=0)
    engine.start(claim)
    engine.clock.advance(seconds=3)

    assert engine.start(claim) == {}
    assert engine.task(claim.id).started_at == START


def test_lost_claim_cannot_start(engine: Engine) -> None:
    engine.enqueue()
    [claim] = engine.claim(start=0)
    engine.clock.advance(seconds=LEASE + 1)
    engine.rescue()
    [owner] = engine.claim(start=0)

    assert engine.start(claim) == {claim.id: "taken"}
    assert engine.task(owner.id).status == "claimed"


def test_start_of_a_completed_task_returns_completed(engine: Engine) -> None:
    engine.enqueue()
    [claim] = engine.claim(start=0)
    engine.complete(claim)

    assert engine.start(claim) == {claim.id: "completed"}


def test_start_of_a_locked_task_returns_busy_and_can_be_repeated(engine: Engine, session: Session) -> None:
    """A renewal or cancellation may have locked the row. A crash after a lost start would count as one before it."""
    engine.enqueue()
    [claim] = engine.claim(start=0)
    other = session()

    with other.connection.transaction():
        other.rows("select from rolecall.tasks for update")
        assert engine.start(claim) == {claim.id: "busy"}
    assert engine.start(claim) == {}

    assert engine.task(claim.id).started_at == START
