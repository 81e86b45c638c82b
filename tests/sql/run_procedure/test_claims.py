"""A SQL handler shows its fence like any other worker: with a lost claim, it changes nothing."""

from __future__ import annotations

from tests.sql.engine import LEASE, Engine
from tests.sql.procedures import COUNT, NEVER, counted, handler, run, table


def test_lost_claim_does_not_run_the_procedure(engine: Engine) -> None:
    table(engine)
    handler(engine, COUNT)
    task_id = engine.enqueue(handler="count", payload={"n": 7})
    stale = engine.claim_one()
    engine.rescue()
    engine.clock.advance(seconds=2 * LEASE)
    engine.rescue()

    assert run(engine, stale) == ("taken", None)
    assert (engine.task(task_id).state, counted(engine)) == ("pending", [])


def test_losing_the_claim_during_the_run_rolls_back_the_work(engine: Engine) -> None:
    table(engine)
    handler(engine, f"{COUNT} perform rolecall.deregister_worker((select worker_id from rolecall.tasks));")
    task_id = engine.enqueue(handler="count", payload={"n": 7})
    claim = engine.claim_one()

    assert run(engine, claim).lost == "taken"
    assert (engine.task(task_id).state, counted(engine)) == ("running", [])


def test_failure_with_a_lost_claim_is_ignored(engine: Engine) -> None:
    handler(engine, "perform 1 / 0;", retry=NEVER)
    task_id = engine.enqueue(handler="count")
    claim = engine.claim_one()
    engine.release(claim)

    assert run(engine, claim) == ("taken", None)
    assert engine.task(task_id).state == "pending"


def test_second_run_of_a_claim_returns_already(engine: Engine) -> None:
    table(engine)
    handler(engine, COUNT)
    engine.enqueue(handler="count", payload={"n": 7})
    claim = engine.claim_one()
    run(engine, claim)

    assert run(engine, claim) == ("already", None)
    assert counted(engine) == [7]


def test_session_is_named_after_worker_and_task_while_running(engine: Engine) -> None:
    """A hanging session is found by that name, in this database only."""
    handler(engine, "info := jsonb_build_object('name', current_setting('application_name'));")
    task_id = engine.enqueue(handler="count")
    claim = engine.claim_one()

    run(engine, claim)

    assert engine.task(task_id).info == {"name": f"rolecall:worker:{claim.worker_id}:task:{task_id}"}
    assert "task" not in engine.value("show application_name")
