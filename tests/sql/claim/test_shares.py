"""Permits of a key with a higher capacity: a worker takes as many as it can use, and leaves a share of the tasks."""

from __future__ import annotations

import pytest

from tests.sql.conftest import Session
from tests.sql.engine import Claim, Engine

PARKED = "select count(*) from rolecall.tasks where parked"


@pytest.fixture(autouse=True)
def wide_key(engine: Engine) -> None:
    engine.rows("select rolecall.set_key_capacity('wide', 4)")


def enqueue(engine: Engine, number: int) -> None:
    engine.enqueue_many([{"role": "work", "key": "wide"}] * number)


def permits(claims: list[Claim]) -> set[int]:
    return {abs(claim.key_slot) for claim in claims if claim.key_slot is not None}


def test_worker_takes_a_permit_for_each_of_its_free_slots(engine: Engine) -> None:
    enqueue(engine, 8)

    assert permits(engine.claim_in_order(engine.worker(), start=2)) == {1, 2}


def test_workers_share_the_tasks_as_they_share_the_permits(engine: Engine) -> None:
    enqueue(engine, 8)

    first, second = (engine.claim_in_order(engine.worker(), start=2) for _ in range(2))

    assert (len(first), permits(second), len(second)) == (4, {3, 4}, 4)


def test_claim_ahead_takes_only_a_first_permit(engine: Engine) -> None:
    enqueue(engine, 8)
    worker = engine.worker()

    assert permits(engine.claim_in_order(worker, start=0)) == {1}
    engine.clock.advance(seconds=1)
    assert engine.claim_in_order(worker, start=0) == []


def test_nothing_is_parked_while_other_workers_can_get_permits(engine: Engine) -> None:
    enqueue(engine, 8)
    worker = engine.worker()

    engine.claim_in_order(worker, start=2)
    engine.claim_in_order(worker, start=0)

    assert engine.value(PARKED) == 0


def test_last_permits_come_with_all_tasks(engine: Engine) -> None:
    enqueue(engine, 8)

    assert len(engine.claim_in_order(engine.worker(), start=4)) == 8


def test_worker_without_a_slot_limit_takes_all_permits(engine: Engine) -> None:
    enqueue(engine, 8)

    assert permits(engine.claim_in_order(engine.worker(), start=None)) == {1, 2, 3, 4}


def test_claim_that_leaves_tasks_of_a_key_wakes_an_idle_worker(engine: Engine, session: Session) -> None:
    idle = engine.worker()
    enqueue(engine, 8)
    engine.rows("select rolecall.mark_idle(%s, true)", idle)
    listener = session()
    listener.rows("listen rolecall_wake")

    engine.claim_in_order(engine.worker(), start=2)

    [notice] = listener.connection.notifies(timeout=30, stop_after=1)
    assert notice.payload == "work"


def test_claim_that_takes_all_tasks_of_a_key_wakes_nobody(engine: Engine, session: Session) -> None:
    idle = engine.worker()
    enqueue(engine, 1)
    engine.rows("select rolecall.mark_idle(%s, true)", idle)
    listener = session()
    listener.rows("listen rolecall_wake")

    engine.claim_in_order(engine.worker(), start=2)

    engine.rows("select pg_notify('rolecall_wake', 'end')")
    [notice] = listener.connection.notifies(timeout=30, stop_after=1)
    assert notice.payload == "end"
