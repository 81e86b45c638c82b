"""The cost of keys: claim and finish of keyed tasks are linear in their number, not quadratic."""

from __future__ import annotations

import json

import pytest

from tests.sql.costs import fill
from tests.sql.engine import Engine
from tests.sql.rows_read import rows_read

FEW, MANY = 100, 1_000
CLAIM = "select id, fence from rolecall.claim(1, '{}', '{work}', %s)"


@pytest.fixture
def engine(live_engine: Engine) -> Engine:
    """The engine with the real clock, because watermarks depend on elapsed time."""
    return live_engine


def enqueue(engine: Engine, number: int, *, keyed: bool) -> None:
    key = "md5(random()::text)" if keyed else "null"
    engine.rows(
        "select from rolecall.enqueue_many((select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('role', 'work', 'key',"
        f" {key}))) from generate_series(1, %s)))",
        number,
    )


def claim_cost(engine: Engine, number: int, *, keyed: bool) -> float:
    """Return the rows per task of a claim, in a session with cached plans; the tasks are then finished."""
    for turn in range(2):
        enqueue(engine, number, keyed=keyed)
        engine.forget_floors()
        if turn:
            return rows_read(engine, CLAIM, number) / number
        finish_all(engine, number)
    raise AssertionError


def finish_all(engine: Engine, number: int) -> None:
    reports = [{"id": task_id, "fence": fence, "outcome": "completed"} for task_id, fence in engine.rows(CLAIM, number)]
    assert len(reports) == number
    engine.rows("select rolecall.finish(1, %s)", json.dumps(reports))


def test_claim_reads_as_much_per_key_for_a_thousand_as_a_hundred(engine: Engine) -> None:
    assert claim_cost(engine, MANY, keyed=True) < 1.5 * claim_cost(engine, FEW, keyed=True)


def test_finish_reads_as_much_per_key_for_a_thousand_as_a_hundred(engine: Engine) -> None:
    costs = {}
    for number in (FEW, MANY):
        for _ in range(2):
            enqueue(engine, number, keyed=True)
            engine.forget_floors()
            claims = engine.rows(CLAIM, number)
            reports = [{"id": task_id, "fence": fence, "outcome": "completed"} for task_id, fence in claims]
            costs[number] = rows_read(engine, "select rolecall.finish(1, %s)", json.dumps(reports)) / number

    assert costs[MANY] < 1.5 * costs[FEW]


def test_number_of_parked_tasks_does_not_affect_the_cost_of_finish(engine: Engine) -> None:
    costs = []
    for number in (10, 5_000):
        fill(engine, number, key=f"k{number}")
        [(task_id, fence)] = engine.rows(CLAIM, 1)
        while engine.value("select exists (select from rolecall.tasks where state = 'pending' and not parked)"):
            engine.rows(CLAIM, 1)
        engine.rows("analyze rolecall.tasks")
        report = json.dumps([{"id": task_id, "fence": fence, "outcome": "completed"}])
        costs.append(rows_read(engine, "select rolecall.finish(1, %s)", report))
        engine.rows("delete from rolecall.tasks")

    assert costs[1] < 2 * costs[0]
