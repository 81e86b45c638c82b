"""An idle system writes nothing: an unnecessary transaction id brings the next wraparound freeze closer."""

from __future__ import annotations

import pytest

from tests.sql.engine import Engine

IDLE_CALLS = {
    "a claim of an empty pool": "select * from rolecall.claim(%(worker)s, '{}', '{work}', 10)",
    "a renewal of nothing": "select * from rolecall.renew(%(worker)s, '{}', '{}')",
    "a report of nothing": "select * from rolecall.finish(%(worker)s, '[]')",
    "a renewal of lost claims": "select * from rolecall.renew(%(worker)s, '{4711}', '{1}')",
    "a late report": """select * from rolecall.finish(%(worker)s, '[{"id": 4711, "fence": 1, "outcome": "completed"}]')""",
    "a start of lost claims": "select * from rolecall.start(%(worker)s, '{4711}', '{1}')",
    "a rescue with nothing to rescue": "select * from rolecall.rescue()",
    "a look at sessions that stand": "select * from rolecall.unseen_workers()",
    "a look at processes": "select * from rolecall.workers_beside('host', 'here')",
    "a look at duties": "select * from rolecall.look_at_duties('{rescue,schedules}', 'me')",
    "a tick with nothing due": "select * from rolecall.fire_schedules()",
    "a tick with no cron expression due": "select * from rolecall.due_cron()",
    "a prune with nothing due": "select * from rolecall.prune_due()",
    "partitions that stand": "select rolecall.make_partitions()",
    "the next moment": "select rolecall.next_due('{}', '{work}')",
    "the counts": "select * from rolecall.counts()",
    "the figures": "select * from rolecall.capacity()",
    "a mark that changes nothing": "select rolecall.mark_idle(%(worker)s, false)",
}


@pytest.fixture
def worker(engine: Engine) -> int:
    """An idle worker, although there are tasks: scheduled, parked, paused and running ones."""
    engine.declare({"name": "paused"})
    engine.rows("select rolecall.make_partitions()")
    engine.prune()
    engine.enqueue(after=3600)
    engine.enqueue("paused")
    engine.rows("update rolecall.roles set paused_at = rolecall.clock() where name = 'paused'")
    engine.enqueue_many([{"role": "work", "key": "busy"}] * 3)
    engine.put_schedule()
    engine.fire_schedules()
    engine.claim(10)
    assert engine.claim(10) == []
    return engine.worker()


@pytest.mark.parametrize("what", IDLE_CALLS)
def test_idle_call_uses_no_transaction_id(engine: Engine, worker: int, what: str) -> None:
    with engine.connection.transaction():
        for _ in range(10):
            engine.connection.execute(IDLE_CALLS[what].encode(), {"worker": worker})
        assert engine.value("select pg_current_xact_id_if_assigned()") is None


def test_thousand_idle_calls_use_no_transaction_id(engine: Engine, worker: int) -> None:
    turn = "; ".join(
        f"perform from ({query}) as call" for what, query in IDLE_CALLS.items() if "partitions" not in what
    )
    with engine.connection.transaction():
        engine.connection.execute(
            f"do $$ begin for _ in 1..250 loop {turn.replace('%(worker)s', str(worker))}; end loop; end $$".encode()
        )
        assert engine.value("select pg_current_xact_id_if_assigned()") is None
