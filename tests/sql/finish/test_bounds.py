"""A transaction that finishes a task ends in time, even if its client hangs."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from psycopg.types.json import Jsonb

from tests.sql.conftest import Session
from tests.sql.engine import LEASE, Claim, Engine, report

TIMEOUT = "select current_setting('idle_in_transaction_session_timeout')"
NAME = "select current_setting('application_name')"
STANDS = "select exists (select from pg_stat_activity where pid = %s)"


@pytest.fixture
def claim(engine: Engine) -> Claim:
    engine.enqueue(key="k")
    return engine.claim_one()


@pytest.fixture
def frozen(session: Session, claim: Claim) -> Iterator[Engine]:
    """A session that has completed the claim in a transaction that its client never ends."""
    frozen = session()
    frozen.rows("begin")
    finish_here(frozen, claim)
    yield frozen
    frozen.connection.close()


def finish_here(engine: Engine, *claims: Claim) -> None:
    reports = Jsonb([report(claim, "completed") for claim in claims])
    engine.rows("select * from rolecall.finish_here(%s, %s)", claims[0].worker_id, reports)


def rescue(engine: Engine) -> list[tuple[int, str]]:
    return engine.rows("select task_id, state::text from rolecall.rescue()")


def until_ended(engine: Engine, pid: int) -> None:
    """Wait until the server has terminated a session."""
    while engine.value(STANDS, pid):
        engine.rows("select pg_stat_clear_snapshot()")


def test_session_can_be_idle_for_the_rest_of_the_lease(engine: Engine, claim: Claim) -> None:
    engine.clock.advance(seconds=LEASE - 20)
    with engine.connection.transaction():
        finish_here(engine, claim)
        assert engine.value(TIMEOUT) == "20s"
    assert engine.value(TIMEOUT) == "0"


def test_earlier_deadline_limits_the_idle_time(engine: Engine) -> None:
    engine.enqueue(timeout=7)
    claim = engine.claim_one()
    with engine.connection.transaction():
        finish_here(engine, claim)
        assert engine.value(TIMEOUT) == "7s"


def test_batch_is_limited_by_the_claim_that_ends_first(engine: Engine) -> None:
    worker = engine.worker()
    engine.enqueue_many([{"role": "work"}, {"role": "work", "timeout": 9}])
    claims = engine.claim(2, worker=worker)
    with engine.connection.transaction():
        finish_here(engine, *claims)
        assert engine.value(TIMEOUT) == "9s"


@pytest.mark.parametrize(("own", "bound"), [("5s", "5s"), ("2min", "1min")])
def test_shorter_timeout_of_the_session_is_kept(engine: Engine, claim: Claim, own: str, bound: str) -> None:
    engine.rows(f"set idle_in_transaction_session_timeout = '{own}'")
    with engine.connection.transaction():
        finish_here(engine, claim)
        assert engine.value(TIMEOUT) == bound
    assert engine.value(TIMEOUT) == own


def test_transaction_always_has_one_second(engine: Engine, claim: Claim) -> None:
    engine.clock.advance(seconds=LEASE + 1)
    with engine.connection.transaction():
        finish_here(engine, claim)
        assert engine.value(TIMEOUT) == "1s"


def test_lost_claim_sets_no_limit(engine: Engine, claim: Claim) -> None:
    engine.complete(claim)
    with engine.connection.transaction():
        before = engine.value(NAME)
        finish_here(engine, claim)
        assert (engine.value(TIMEOUT), engine.value(NAME)) == ("0", before)


def test_rolled_back_savepoint_restores_timeout_and_name(engine: Engine, claim: Claim) -> None:
    before = engine.value(NAME)
    with engine.connection.transaction():
        with engine.connection.transaction(force_rollback=True):
            finish_here(engine, claim)
            assert engine.value(NAME) == f"rolecall:worker:{claim.worker_id}:finish:{claim.id}"
        assert (engine.value(TIMEOUT), engine.value(NAME)) == ("0", before)


def test_server_ends_an_idle_transaction(engine: Engine, session: Session, claim: Claim) -> None:
    engine.clock.advance(seconds=LEASE + 1)
    frozen = session()
    frozen.rows("begin")
    finish_here(frozen, claim)

    with pytest.raises(psycopg.OperationalError):
        list(frozen.connection.notifies(timeout=30))

    assert engine.complete(claim) is None


def test_rescue_ends_the_session_one_lease_after_the_lease(engine: Engine, frozen: Engine, claim: Claim) -> None:
    engine.rows("select rolecall.server_up_since()")
    pid = frozen.connection.info.backend_pid
    engine.clock.advance(seconds=2 * LEASE - 1)
    assert rescue(engine) == []
    assert engine.value(STANDS, pid)

    engine.clock.advance(seconds=2)
    assert rescue(engine) == []
    until_ended(engine, pid)

    assert rescue(engine) == [(claim.id, "pending")]


def test_rescue_of_a_dead_worker_ends_its_session_and_releases_the_task(
    engine: Engine, frozen: Engine, claim: Claim
) -> None:
    assert frozen.connection.info.backend_pid

    rescued = engine.rows("select task_id, state::text from rolecall.rescue_workers(%s)", [claim.worker_id])

    assert rescued == [(claim.id, "pending")]


def test_other_sessions_that_lock_a_stale_task_are_not_ended(engine: Engine, session: Session, claim: Claim) -> None:
    engine.rows("select rolecall.server_up_since()")
    other = session()
    with other.connection.transaction():
        other.rows("select from rolecall.tasks where id = %s for update", claim.id)
        engine.clock.advance(seconds=3 * LEASE)
        rescue(engine)
        assert other.value("select 1") == 1


def test_session_of_another_user_is_reported_with_a_warning_only(engine: Engine, claim: Claim) -> None:
    """The server terminates it when its idle timeout expires."""
    owner = "rolecall_owner_here"
    warnings = list[str]()
    engine.connection.add_notice_handler(lambda notice: warnings.append(notice.message_primary or ""))
    engine.rows(f"drop role if exists {owner}")
    engine.connection.execute(SQL("create role {} nosuperuser").format(Identifier(owner)))
    name = f"rolecall:worker:{claim.worker_id}:finish:{claim.id}"
    try:
        with psycopg.connect(engine.database, autocommit=True, application_name=name) as other:
            engine.rows(f"grant usage on schema rolecall to {owner}")
            engine.rows(f"set role {owner}")
            engine.rows("select rolecall.end_session(%s, 1, 7, '0 s')", other.info.backend_pid)
            assert other.execute("select 1").fetchone() == (1,)
    finally:
        engine.rows("reset role")
        engine.rows(f"drop owned by {owner}")
        engine.rows(f"drop role {owner}")
    assert any("is stuck in task 7" in warning for warning in warnings)
