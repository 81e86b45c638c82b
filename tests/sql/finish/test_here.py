"""Completion within the handler's transaction: accepted once, and repeatable within the same transaction."""

from __future__ import annotations

import pytest
from psycopg.types.json import Jsonb

from tests.sql.engine import Claim, Engine, report


@pytest.fixture
def claim(engine: Engine) -> Claim:
    engine.enqueue()
    return engine.claim_one()


def finish_here(engine: Engine, *claims: Claim) -> dict[int, str]:
    reports = Jsonb([report(claim, "completed") for claim in claims])
    return dict(engine.rows("select * from rolecall.finish_here(%s, %s)", claims[0].worker_id, reports))


def test_finish_can_be_repeated_in_the_same_transaction(engine: Engine, claim: Claim) -> None:
    with engine.connection.transaction():
        assert [finish_here(engine, claim), finish_here(engine, claim)] == [{}, {}]

    assert engine.state(claim.id) == "completed"


def test_finish_in_another_transaction_returns_already(engine: Engine, claim: Claim) -> None:
    finish_here(engine, claim)

    assert finish_here(engine, claim) == {claim.id: "already"}


def test_finish_rolled_back_to_a_savepoint_can_be_repeated(engine: Engine, claim: Claim) -> None:
    with engine.connection.transaction():
        with engine.connection.transaction(force_rollback=True):
            finish_here(engine, claim)
        assert engine.state(claim.id) == "running"
        assert finish_here(engine, claim) == {}

    assert engine.state(claim.id) == "completed"


def test_finish_before_the_transaction_returns_already(engine: Engine, claim: Claim) -> None:
    engine.complete(claim)

    with engine.connection.transaction():
        assert [finish_here(engine, claim), finish_here(engine, claim)] == [{claim.id: "already"}] * 2


def test_tasks_of_a_batch_have_separate_answers(engine: Engine) -> None:
    worker = engine.worker()
    ids = [engine.enqueue() for _ in range(2)]
    first, second = engine.claim(2, worker=worker)
    engine.complete(second)

    with engine.connection.transaction():
        assert finish_here(engine, first, second) == {ids[1]: "already"}
        assert finish_here(engine, first, second) == {ids[1]: "already"}


def test_finish_with_a_lost_claim_returns_the_reason(engine: Engine, claim: Claim) -> None:
    engine.release(claim)
    engine.claim_one()

    assert finish_here(engine, claim) == {claim.id: "taken"}
