"""Recovery of SQL handlers: a dead session is detected, not only an expired lease."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import psycopg
import pytest

from tests.sql.conftest import Session
from tests.sql.engine import LEASE, TIMEOUT, Claim, Engine
from tests.sql.procedures import COUNT, WAIT, WAITING, another, beside, counted, handler, process, run, table, until

Errors = list[psycopg.Error]


@pytest.fixture
def holder(engine: Engine, session: Session) -> Engine:
    """Holds the lock that the SQL handler waits for while it runs."""
    table(engine)
    handler(engine, f"{COUNT} {WAIT}")
    # The first rescue only records how long this server has been up; later ones rescue.
    engine.rescue()
    holder = session()
    holder.rows("select pg_advisory_lock(1)")
    return holder


@contextmanager
def hanging(engine: Engine, claim: Claim | None = None) -> Iterator[Errors]:
    """Make a session wait in a procedure: that of a drain, or of the worker with this claim."""
    with another(engine) as other:
        action = partial(process, other) if claim is None else partial(run, other, claim)
        with beside(action) as errors:
            until(engine, WAITING)
            yield errors


def test_drain_first_rescues_tasks_of_lost_workers(engine: Engine) -> None:
    handler(engine, "null;")
    task_id = engine.enqueue(handler="count", retry={"kind": "linear", "step": 0})
    engine.claim_one()
    engine.rescue()
    engine.clock.advance(seconds=2 * LEASE)

    process(engine)

    assert (engine.task(task_id).state, engine.task(task_id).attempt) == ("completed", 2)
    assert engine.events(task_id) == ["crashed"]


def test_drain_can_run_a_task_longer_than_its_lease(engine: Engine, holder: Engine) -> None:
    task_id = engine.enqueue(handler="count", payload={"n": 1})

    with hanging(engine):
        engine.clock.advance(seconds=2 * LEASE)
        assert engine.rescue() == {}
        holder.rows("select pg_advisory_unlock(1)")

    assert (engine.task(task_id).state, engine.task(task_id).attempt, counted(engine)) == ("completed", 1, [1])


@pytest.mark.usefixtures("holder")
def test_task_of_a_dead_drain_is_rescued_after_its_lease(engine: Engine) -> None:
    task_id = engine.enqueue(handler="count")

    with hanging(engine) as errors:
        engine.rows("select pg_terminate_backend(pid) from rolecall.procedure_sessions()")

    engine.clock.advance(seconds=2 * LEASE)
    until(engine, "not exists (select from rolecall.procedure_sessions())")
    assert isinstance(errors[0], psycopg.OperationalError)
    assert engine.rescue() == {task_id: "pending"}


@pytest.mark.usefixtures("holder")
def test_drain_that_hangs_beyond_the_deadline_is_terminated(engine: Engine) -> None:
    task_id = engine.enqueue(handler="count", max_attempts=1)

    with hanging(engine) as errors:
        engine.clock.advance(seconds=TIMEOUT + 1)
        assert engine.rescue() == {task_id: "failed"}

    assert isinstance(errors[0], psycopg.OperationalError)
    assert engine.task(task_id).error == "the deadline passed"


@pytest.mark.usefixtures("holder")
def test_session_that_hangs_in_a_rescued_task_is_terminated(engine: Engine) -> None:
    """Its locks are released, so that the next attempt does not wait for it."""
    task_id = engine.enqueue(handler="count")

    with hanging(engine, engine.claim_one()) as errors:
        engine.clock.advance(seconds=2 * LEASE)
        assert engine.rescue() == {task_id: "pending"}

    assert isinstance(errors[0], psycopg.OperationalError)
    until(engine, f"not {WAITING}")


@pytest.mark.usefixtures("holder")
def test_session_that_locks_its_task_is_terminated_when_its_worker_is_gone(engine: Engine) -> None:
    handler(engine, f'perform rolecall.spawn(rolecall.current_task(), \'[{{"role": "work"}}]\'); {WAIT}')
    task_id = engine.enqueue(handler="count")

    with hanging(engine, engine.claim_one()) as errors:
        engine.clock.advance(seconds=2 * LEASE)
        assert engine.rescue() == {}
        assert not errors, "with a heartbeat of its worker, the open transaction protects the task like a lease"
        engine.clock.advance(minutes=6)
        engine.rescue()

    assert isinstance(errors[0], psycopg.OperationalError)
    until(engine, f"not {WAITING}")
    assert engine.rescue() == {task_id: "pending"}


def test_unrelated_sessions_are_never_terminated(engine: Engine, session: Session) -> None:
    """Sessions of other workers and other databases are not affected."""
    handler(engine, "null;")
    engine.rescue()
    task_id = engine.enqueue(handler="count")
    claim = engine.claim_one()
    nameless = session()
    nameless.rows("set application_name = 'rolecall:worker:claim'")
    name = f"rolecall:worker:{claim.worker_id}:task:{task_id}"
    with psycopg.connect(engine.database, dbname="postgres", application_name=name) as elsewhere:
        engine.clock.advance(minutes=10)

        assert engine.rescue() == {task_id: "pending"}

        assert nameless.value("select 1") == 1
        assert elsewhere.execute("select 1").fetchone() == (1,)
