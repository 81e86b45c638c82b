"""The cost of calls in buffers must not grow with unrelated rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import psycopg
import pytest

from tests.sql.costs import CLAIM, FEW_BUFFERS, MANY, assert_cheap, buffers, fill, finish_all
from tests.sql.engine import Engine, report


@contextmanager
def pinned_snapshot(engine: Engine) -> Iterator[None]:
    """Keep all rows that die during the block from being removed."""
    with psycopg.connect(engine.database) as other:
        other.execute("set transaction isolation level repeatable read")
        other.execute("select count(*) from rolecall.tasks")
        yield


@pytest.fixture
def engine(live_engine: Engine) -> Engine:
    """The engine with the real clock, because watermarks depend on elapsed time."""
    return live_engine


def test_cost_of_a_claim_does_not_depend_on_finished_tasks(engine: Engine) -> None:
    fill(engine, MANY)
    finish_all(engine)
    engine.rows("vacuum analyze rolecall.tasks")
    fill(engine, 10)

    assert_cheap(engine, CLAIM)


def test_cost_of_a_claim_does_not_depend_on_tasks_due_later(engine: Engine) -> None:
    fill(engine, MANY, after=3600)
    fill(engine, 10)

    assert_cheap(engine, CLAIM)


def test_cost_of_a_claim_does_not_depend_on_pending_tasks_without_statistics(engine: Engine) -> None:
    fill(engine, MANY)

    assert_cheap(engine, CLAIM)


def test_cost_of_a_claim_does_not_depend_on_tasks_of_unserved_handlers(engine: Engine) -> None:
    fill(engine, MANY, handler="unknown")
    fill(engine, 10)

    assert_cheap(engine, CLAIM)


def test_cost_of_a_claim_does_not_depend_on_parked_tasks(engine: Engine) -> None:
    """The claims that park the tasks are not measured."""
    fill(engine, 1, key="busy")
    engine.rows(CLAIM)
    fill(engine, MANY, key="busy")
    fill(engine, 10)
    while engine.value(
        "select exists (select from rolecall.tasks where state = 'pending' and not parked and key is not null)"
    ):
        engine.rows(CLAIM)
    fill(engine, 10)

    assert_cheap(engine, CLAIM)


def test_tasks_of_a_long_queue_for_one_key_have_a_constant_cost(engine: Engine) -> None:
    fill(engine, 1, key="busy")
    claim = engine.claim_one()
    fill(engine, 20_000, key="busy")
    while engine.value("select exists (select from rolecall.tasks where state = 'pending' and not parked)"):
        engine.rows(CLAIM)
    for _ in range(3):
        one = json.dumps([report(claim, "completed")])
        assert buffers(engine, f"select rolecall.finish({claim.worker_id}, '{one}')") < FEW_BUFFERS
        engine.rows("vacuum analyze rolecall.tasks")
        assert buffers(engine, CLAIM) < FEW_BUFFERS
        [(task_id, fence)] = engine.rows("select id, fence from rolecall.tasks where state = 'running'")
        claim = replace(claim, id=task_id, fence=fence, worker_id=1)


def test_claim_that_meets_a_busy_key_does_not_read_other_tasks(engine: Engine) -> None:
    """The statistics are misleading here: they show no pending tasks."""
    fill(engine, 1, key="busy")
    engine.rows(CLAIM)
    engine.rows("vacuum analyze rolecall.tasks")
    fill(engine, MANY)
    for _ in range(8):
        fill(engine, 1, key="busy", priority=1)
        last = buffers(engine, CLAIM)

    assert last < FEW_BUFFERS
    assert engine.value("select count(*) from rolecall.tasks where parked") == 8


@pytest.mark.parametrize("roles", [1, 2])
def test_cost_of_a_claim_does_not_depend_on_dead_rows(engine: Engine, roles: int) -> None:
    engine.declare({"name": "other"})
    names = ("work", "other")[:roles]
    for _ in range(4):
        for name in names:
            fill(engine, 5_000 // roles, role=name)
    with pinned_snapshot(engine):
        finish_all(engine, at_most=18_000)

        assert_cheap(engine, CLAIM)


def test_cheaper_of_two_scans_below_the_watermark_sets_the_interval(engine: Engine) -> None:
    """An expensive scan runs rarely. One that was only delayed by a busy machine does not count as expensive."""
    fill(engine, 3 * MANY)
    line_id = engine.value("select min(id) from rolecall.lines")
    # Measured before and after the scan, so that a pause of this session cannot make the test fail.
    pauses = """
    select extract(epoch from look_below_at - statement_timestamp()), extract(epoch from look_below_at - clock_timestamp())
    from rolecall.look_below(%s, rolecall.clock())
    """
    with pinned_snapshot(engine):
        engine.rows("delete from rolecall.tasks")
        engine.rows("select set_config('rolecall.look_' || id, '', false) from rolecall.lines")
        [(_, first), (second, _)] = [engine.rows(pauses, line_id)[0] for _ in range(2)]

    assert first <= 0.05
    assert second > 0.1


def test_limit_of_one_claims_one_task_under_any_plan(engine: Engine) -> None:
    fill(engine, 100)
    fill(engine, 100, key="k")
    for method in ("hashjoin", "mergejoin", "hashagg", "sort", "material", "indexscan", "nestloop", "memoize"):
        engine.rows(f"set enable_{method} = off")

        assert len(engine.claim(1)) == 1, method


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("select * from rolecall.rescue()", "tasks_running"),
        ("select rolecall.deregister_worker(7)", "tasks_running"),
        ("select * from rolecall.fire_schedules()", "schedules_due"),
        ("select * from rolecall.expire()", "tasks_expiring"),
        ("select rolecall.next_expiry()", "tasks_expiring"),
    ],
)
def test_maintenance_duty_reads_only_the_rows_it_needs(engine: Engine, query: str, index: str) -> None:
    """A rescue among many pending tasks reads only the running ones."""
    fill(engine, 20_000)
    engine.claim(5)

    assert_cheap(engine, query)


def test_cost_of_a_claim_does_not_depend_on_expired_tasks(engine: Engine) -> None:
    """The scan that passes them for the first time is not measured."""
    fill(engine, 20_000, expires_at="2000-01-01T00:00:00Z")
    fill(engine, 20)
    for _ in range(3):
        engine.rows(CLAIM)

    assert_cheap(engine, CLAIM)


def test_calls_find_their_task_by_id_regardless_of_statistics(engine: Engine) -> None:
    fill(engine, 20_000)
    engine.rows("analyze rolecall.tasks")
    worker = engine.worker()
    claims = engine.claim(1, worker=worker)
    fill(engine, 20_000)
    [claim] = claims
    arrays = f"{worker}, '{{{claim.id}}}', '{{{claim.fence}}}'"

    for verb in ("start", "renew"):
        assert_cheap(engine, f"select * from rolecall.{verb}({arrays})")
    assert_cheap(engine, f"select rolecall.report_info({worker}, {claim.id}, {claim.fence}, '{{}}')")
    assert_cheap(engine, f"select * from rolecall.cancel('{{{claim.id}}}')")
    assert_cheap(engine, f"select * from rolecall.finish({worker}, '{json.dumps([report(claim, 'completed')])}')")


def test_pruning_without_expired_rows_reads_few_pages(engine: Engine) -> None:
    engine.rows("select rolecall.make_partitions()")
    fill(engine, 20_000)
    finish_all(engine)
    engine.rows("analyze rolecall.finished_tasks")

    while engine.value("select count(*) from rolecall.retention where next_at <= rolecall.clock()"):
        assert_cheap(engine, "select * from rolecall.prune_due()")


@pytest.mark.parametrize(
    "dedupe",
    [
        None,
        {"mode": "merge"},
        {"mode": "replace"},
        {"mode": "error"},
        {"scope": "any", "window": 60},
        {"except_chain": 1},
    ],
    ids=str,
)
def test_cost_of_deduplication_does_not_depend_on_other_keys(engine: Engine, dedupe: dict[str, object] | None) -> None:
    """The statistics are misleading here: they show no keys."""
    engine.rows("select rolecall.make_partitions()")
    numbers = iter(range(MANY))

    def enqueue() -> str:
        task = {"role": "work", "dedupe_key": f"new {next(numbers)}"} | ({"dedupe": dedupe} if dedupe else {})
        return f"select * from rolecall.enqueue_many('{json.dumps([task])}')"

    for _ in range(6):
        engine.rows(enqueue())
    engine.rows("analyze rolecall.tasks, rolecall.finished_tasks")
    # Stored without a window, for which each of them would look for finished tasks of every day.
    stored = {"dedupe": dedupe} if dedupe and "window" not in dedupe else {}
    query = "select from rolecall.enqueue_many((select jsonb_agg(%s::jsonb || jsonb_build_object('dedupe_key', %s || n)) from generate_series(1, 10000) n))"
    for kind in ("done", "running", "open"):
        engine.rows(query, json.dumps({"role": "work"} | stored), kind)
        if kind != "open":
            claims = engine.rows("select id, fence from rolecall.claim(1, '{}', '{work}', 10000)")
        if kind == "done":
            engine.finish(1, *({"id": task_id, "fence": fence, "outcome": "completed"} for task_id, fence in claims))

    assert min(buffers(engine, enqueue()) for _ in range(3)) < FEW_BUFFERS


def test_cost_of_a_dedupe_window_does_not_depend_on_finished_tasks(engine: Engine) -> None:
    """Finished tasks are found by their dedupe key, not scanned."""
    engine.rows("select rolecall.make_partitions()")
    task = {"role": "work", "dedupe": {"scope": "any", "window": 3600}}
    many = "select from rolecall.enqueue_many((select jsonb_agg(%s::jsonb || jsonb_build_object('dedupe_key', %s || n)) from generate_series(1, 4000) n))"
    for batch in range(3):
        engine.rows(many, json.dumps({"role": "work"}), f"done {batch} ")
        claims = engine.rows("select id, fence from rolecall.claim(1, '{}', '{work}', 4000)")
        engine.finish(1, *({"id": task_id, "fence": fence, "outcome": "completed"} for task_id, fence in claims))
    news = [json.dumps([task | {"dedupe_key": f"new {number}"}]) for number in range(3)]

    assert min(buffers(engine, f"select * from rolecall.enqueue_many('{new}')") for new in news) < FEW_BUFFERS


def test_cost_of_a_claim_by_id_does_not_depend_on_pending_tasks(engine: Engine) -> None:
    """This includes tasks of a busy key and missing tasks."""
    worker = engine.worker()
    fill(engine, 10)
    fill(engine, 4, key="busy")
    claim = f"select * from rolecall.claim_these({worker}, '{{1,2,3,11,12,{10 * MANY}}}')"
    among_few = min(buffers(engine, claim) for _ in range(5))
    fill(engine, 2 * MANY)
    engine.rows("analyze rolecall.tasks")
    fill(engine, 100, key="busy")

    assert min(buffers(engine, claim) for _ in range(5)) < among_few + FEW_BUFFERS


def test_cost_of_offers_does_not_depend_on_pending_tasks(engine: Engine) -> None:
    fill(engine, 2 * MANY)
    fill(engine, 20, key="busy")

    assert_cheap(engine, "select * from rolecall.offers('{}', null, 10)")


def test_cost_of_offers_does_not_depend_on_parked_tasks(engine: Engine) -> None:
    """The calls that park the tasks are not measured."""
    fill(engine, 1, key="busy")
    engine.rows(CLAIM)
    fill(engine, 20_000, key="busy")
    fill(engine, 20)
    for _ in range(6):
        engine.rows("select * from rolecall.offers('{}', null, 10)")
    engine.rows("vacuum analyze rolecall.tasks")

    assert_cheap(engine, "select * from rolecall.offers('{}', null, 10)")
