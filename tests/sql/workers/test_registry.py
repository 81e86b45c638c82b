"""The worker registry: registration, heartbeats, idle marks and deregistration."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from tests.sql.engine import START, Engine


def beat(engine: Engine, worker: int, held: int = 0, idle: bool = False) -> bool:
    known: bool = engine.value("select known from rolecall.beat(%s, %s, %s)", worker, held, idle)
    return known


def deregister(engine: Engine, worker: int) -> int:
    number: int = engine.value("select rolecall.deregister_worker(%s)", worker)
    return number


def row(engine: Engine, worker: int, columns: str) -> tuple[object, ...]:
    [found] = engine.rows(f"select {columns} from rolecall.all_workers where id = %s", worker)
    return found


def test_registered_worker_is_stored_with_its_fields(engine: Engine) -> None:
    worker = engine.worker("work", name="pod-1", slots=4)

    assert row(engine, worker, "name, roles, slots, held, idle, host, pid, version, started_at, stopped_at") == (
        "pod-1", ["work"], 4, 0, False, "host", 1, "0", START, None,
    )  # fmt: skip


def test_same_name_registers_two_workers(engine: Engine) -> None:
    """A restarted pod with its old name is another worker."""
    first, second = engine.worker(name="pod-1"), engine.worker(name="pod-1")

    assert first != second


def test_worker_requires_at_least_one_slot(engine: Engine) -> None:
    with pytest.raises(psycopg.errors.CheckViolation, match="slots_are_positive"):
        engine.worker(slots=0)


def test_heartbeat_stores_time_held_tasks_and_idleness(engine: Engine) -> None:
    worker = engine.worker()
    engine.clock.advance(seconds=30)

    assert beat(engine, worker, held=3, idle=True)
    assert row(engine, worker, "heartbeat_at, held, idle") == (START + timedelta(seconds=30), 3, True)


def test_heartbeat_of_an_unknown_worker_returns_false(engine: Engine) -> None:
    assert not beat(engine, 4711)


def test_unregistered_worker_is_unknown(engine: Engine) -> None:
    worker = engine.worker()
    deregister(engine, worker)

    assert not beat(engine, worker)
    assert row(engine, worker, "stopped_at, idle") == (START, False)


def test_unregistering_returns_the_workers_tasks(engine: Engine) -> None:
    """This includes a claim whose response was lost."""
    ids, _ = engine.enqueue_many([{"role": "work", "key": str(n)} for n in range(3)])
    worker, other = engine.worker(), engine.worker()
    engine.claim(2, worker=worker)
    held_by_other = engine.claim_one(worker=other)

    assert deregister(engine, worker) == 2

    assert [task.state for task in engine.tasks()] == ["pending", "pending", "running"]
    assert [task.attempt for task in engine.tasks()] == [0, 0, 1]
    assert engine.complete(held_by_other) is None
    assert [claim.id for claim in engine.claim(3)] == ids[:2]


def test_unregistering_returns_tasks_that_have_not_started(engine: Engine) -> None:
    ids, _ = engine.enqueue_many([{"role": "work"}] * 2)
    worker = engine.worker()
    begun, _ = engine.claim(2, worker=worker, start=0)
    engine.start(begun)

    deregister(engine, worker)

    assert [engine.events(task_id) for task_id in ids] == [["shutdown"], ["returned"]]


def test_unregistering_twice_has_no_further_effect(engine: Engine) -> None:
    worker = engine.worker()
    deregister(engine, worker)
    engine.clock.advance(seconds=9)

    assert deregister(engine, worker) == 0
    assert row(engine, worker, "stopped_at") == (START,)


def test_unchanged_idle_mark_writes_nothing(engine: Engine) -> None:
    worker = engine.worker()
    with engine.connection.transaction():
        engine.rows("select rolecall.mark_idle(%s, false)", worker)
        assert engine.value("select pg_current_xact_id_if_assigned()") is None

    engine.rows("select rolecall.mark_idle(%s, true)", worker)

    assert row(engine, worker, "idle") == (True,)
