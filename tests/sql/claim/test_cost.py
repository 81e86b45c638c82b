"""A claim reads what it takes, whatever else there is."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.sql.engine import Engine

MANY = 20_000
MOST_BUFFERS = 200


@pytest.fixture
def engine_with_a_task(engine: Engine) -> Engine:
    engine.declare({"name": "work"})
    return engine


def buffers_of_a_claim(engine: Engine) -> int:
    """Blocks that claiming one task touches, after a first claim has had its walk."""
    for _ in range(2):
        engine.enqueue()
        [(plan,)] = engine.rows(
            "explain (analyze, buffers, format json) select * from rolecall.claim(%s, '{}', '{work}', 1)",
            engine.worker(),
        )
    figures: dict[str, Any] = plan[0]["Plan"]
    assert figures["Actual Rows"] == 1
    return int(figures["Shared Hit Blocks"]) + int(figures["Shared Read Blocks"])


def test_tasks_due_later_cost_a_claim_nothing(engine_with_a_task: Engine) -> None:
    """Covers SPEC 000-13 and invariant 13."""
    engine_with_a_task.enqueue_many([{"role": "work", "after": 3600}] * MANY)

    assert buffers_of_a_claim(engine_with_a_task) < MOST_BUFFERS


def test_tasks_of_a_busy_key_cost_a_claim_nothing_once_parked(engine_with_a_task: Engine) -> None:
    """Covers invariant 13, RELIABILITY F21."""
    engine = engine_with_a_task
    engine.enqueue_many([{"role": "work", "key": "busy"}] * MANY)
    engine.claim(1)
    while engine.value("select count(*) from rolecall.tasks where state = 'pending' and not parked"):
        engine.claim(1)

    assert buffers_of_a_claim(engine) < MOST_BUFFERS


def test_tasks_of_a_handler_that_nobody_runs_cost_a_claim_nothing(engine_with_a_task: Engine) -> None:
    """Covers invariant 13, RELIABILITY F75."""
    engine_with_a_task.enqueue_many([{"role": "work", "handler": "unknown"}] * MANY)

    assert buffers_of_a_claim(engine_with_a_task) < MOST_BUFFERS


def test_finished_tasks_that_an_old_snapshot_keeps_cost_a_claim_nothing(
    engine_with_a_task: Engine, database: str
) -> None:
    """Covers invariant 13, RELIABILITY F35."""
    engine = engine_with_a_task
    with psycopg.connect(database) as old:
        old.execute("set transaction isolation level repeatable read")
        old.execute("select count(*) from rolecall.tasks")
        engine.enqueue_many([{"role": "work"}] * MANY)
        worker = engine.worker()
        while claims := engine.claim(1000, worker=worker):
            engine.finish(worker, *({"id": c.id, "fence": c.fence, "outcome": "completed"} for c in claims))

        assert buffers_of_a_claim(engine) < MOST_BUFFERS
