"""Heartbeats of workers and commands to them."""

from __future__ import annotations

import time

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.conftest import Session
from tests.sql.costs import buffers
from tests.sql.engine import Engine


def beat(engine: Engine, worker: int, **condition: object) -> tuple[object, ...]:
    [answer] = engine.rows("select * from rolecall.beat(%s, 0, false, %s)", worker, Jsonb(condition))
    return answer


def state(engine: Engine, worker: int) -> str:
    word: str = engine.value("select state from rolecall.all_workers where id = %s", worker)
    return word


def tell(engine: Engine, worker: int, command: str | None) -> None:
    engine.rows("select rolecall.command_worker(%s, %s)", worker, command)


def test_heartbeat_stores_resource_usage_and_the_back_off_reason(engine: Engine) -> None:
    worker = engine.worker()
    beat(engine, worker, cpu=0.25, memory=0.9, memory_bytes=10**10, backing_off="memory at 90%")

    [row] = engine.rows("select cpu, memory, memory_bytes, backing_off, state from rolecall.all_workers")
    assert row == (0.25, 0.9, 10**10, "memory at 90%", "backing off")


def test_values_missing_from_the_next_heartbeat_are_reset(engine: Engine) -> None:
    worker = engine.worker()
    beat(engine, worker, cpu=0.25, backing_off="cpu at 95%")
    beat(engine, worker)

    assert engine.rows("select cpu, backing_off from rolecall.workers") == [(None, None)]


@pytest.mark.parametrize("ahead", [-300, 0, 300])
def test_heartbeat_stores_the_clock_offset_of_the_worker(engine: Engine, ahead: int) -> None:
    """The offset is only shown by the doctor."""
    worker = engine.worker()
    beat(engine, worker, clock=time.time() + ahead)

    assert engine.value("select clock_ahead from rolecall.workers") == pytest.approx(ahead, abs=60)


def test_command_is_returned_with_each_heartbeat_until_revoked(engine: Engine) -> None:
    worker = engine.worker()
    assert beat(engine, worker) == (True, None)

    tell(engine, worker, "drain")
    assert [beat(engine, worker) for _ in range(2)] == [(True, "drain")] * 2

    tell(engine, worker, None)
    assert beat(engine, worker) == (True, None)


def test_draining_worker_is_drained_when_it_runs_nothing(engine: Engine) -> None:
    engine.enqueue()
    worker = engine.worker()
    claim = engine.claim_one(worker=worker)
    tell(engine, worker, "drain")
    assert state(engine, worker) == "draining"

    engine.complete(claim)
    assert state(engine, worker) == "draining"  # it has not received the command yet, and can claim another
    beat(engine, worker, following="drain")

    assert state(engine, worker) == "drained"
    tell(engine, worker, "decommission")
    assert state(engine, worker) == "leaving"


def test_worker_is_notified_of_a_command(engine: Engine, session: Session) -> None:
    worker, listener = engine.worker(), session()
    listener.rows("listen rolecall_command")

    tell(engine, worker, "decommission")

    [notice] = listener.connection.notifies(timeout=30, stop_after=1)
    assert notice.payload == str(worker)


def test_command_to_an_unregistered_worker_is_rejected(engine: Engine) -> None:
    gone = engine.worker()
    engine.rows("select rolecall.deregister_worker(%s)", gone)

    for worker in (gone, 4711):
        with pytest.raises(psycopg.Error, match=f"no worker {worker} is registered") as raised:
            tell(engine, worker, "drain")
        assert raised.value.sqlstate == "RC030"


def test_sql_worker_claims_no_more_tasks_after_a_drain_command(engine: Engine) -> None:
    engine.rows("create procedure public.work(payload jsonb, inout info jsonb) language plpgsql as 'begin end'")
    engine.rows("select rolecall.declare_procedure('work', 'public.work')")
    engine.enqueue("work")
    worker = engine.value("select rolecall.open_drain(null)")
    tell(engine, worker, "drain")
    claim = "select id from rolecall.claim_for_drain(%s, null)"
    assert engine.rows(claim, worker) == []

    tell(engine, worker, None)

    assert len(engine.rows(claim, worker)) == 1


def test_worker_registry_reads_running_tasks_through_an_index(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work"}] * 5_000)
    worker = engine.worker()
    claims = engine.claim(3, worker=worker)

    assert buffers(engine, "select * from rolecall.all_workers") < 100
    assert engine.value("select running_tasks from rolecall.all_workers") == [claim.id for claim in claims]
