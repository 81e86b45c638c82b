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


def test_a_beat_tells_what_the_worker_uses_and_why_it_backs_off(engine: Engine) -> None:
    worker = engine.worker()
    beat(engine, worker, cpu=0.25, memory=0.9, memory_bytes=10**10, backing_off="memory at 90%")

    [row] = engine.rows("select cpu, memory, memory_bytes, backing_off, state from rolecall.all_workers")
    assert row == (0.25, 0.9, 10**10, "memory at 90%", "backing off")


def test_what_the_next_beat_does_not_say_is_unknown_again(engine: Engine) -> None:
    worker = engine.worker()
    beat(engine, worker, cpu=0.25, backing_off="cpu at 95%")
    beat(engine, worker)

    assert engine.rows("select cpu, backing_off from rolecall.workers") == [(None, None)]


@pytest.mark.parametrize("ahead", [-300, 0, 300])
def test_a_beat_shows_how_far_the_workers_clock_is_ahead(engine: Engine, ahead: int) -> None:
    """The offset is only shown by the doctor."""
    worker = engine.worker()
    beat(engine, worker, clock=time.time() + ahead)

    assert engine.value("select clock_ahead from rolecall.workers") == pytest.approx(ahead, abs=60)


def test_a_command_stands_until_the_worker_hears_it_and_until_it_is_taken_back(engine: Engine) -> None:
    worker = engine.worker()
    assert beat(engine, worker) == (True, None)

    tell(engine, worker, "drain")
    assert [beat(engine, worker) for _ in range(2)] == [(True, "drain")] * 2

    tell(engine, worker, None)
    assert beat(engine, worker) == (True, None)


def test_a_draining_worker_is_drained_when_it_runs_nothing(engine: Engine) -> None:
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


def test_a_command_is_notified_to_its_worker(engine: Engine, session: Session) -> None:
    worker, listener = engine.worker(), session()
    listener.rows("listen rolecall_command")

    tell(engine, worker, "decommission")

    [notice] = listener.connection.notifies(timeout=30, stop_after=1)
    assert notice.payload == str(worker)


def test_who_is_not_on_the_roll_cannot_be_told(engine: Engine) -> None:
    gone = engine.worker()
    engine.rows("select rolecall.deregister_worker(%s)", gone)

    for worker in (gone, 4711):
        with pytest.raises(psycopg.Error, match=f"no worker {worker} is on the roll") as raised:
            tell(engine, worker, "drain")
        assert raised.value.sqlstate == "RC030"


def test_a_drain_in_the_database_takes_no_more_once_told(engine: Engine) -> None:
    engine.rows("create procedure public.work(payload jsonb, inout info jsonb) language plpgsql as 'begin end'")
    engine.rows("select rolecall.declare_procedure('work', 'public.work')")
    engine.enqueue("work")
    worker = engine.value("select rolecall.open_drain(null)")
    tell(engine, worker, "drain")
    claim = "select id from rolecall.claim_for_drain(%s, null)"
    assert engine.rows(claim, worker) == []

    tell(engine, worker, None)

    assert len(engine.rows(claim, worker)) == 1


def test_the_roll_reads_the_running_tasks_through_an_index(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work"}] * 5_000)
    worker = engine.worker()
    claims = engine.claim(3, worker=worker)

    assert buffers(engine, "select * from rolecall.all_workers") < 100
    assert engine.value("select running_tasks from rolecall.all_workers") == [claim.id for claim in claims]
