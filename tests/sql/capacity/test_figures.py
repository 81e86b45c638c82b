"""The figures for capacity planning: waiting tasks, active workers, rate, time to drain."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sql.costs import buffers
from tests.sql.engine import Engine


def figures(engine: Engine, role: str = "work") -> dict[str, Any]:
    cursor = engine.connection.execute("select * from rolecall.capacity() where role = %s", [role])
    names = [column.name for column in cursor.description or ()]
    [row] = cursor.fetchall()
    return dict(zip(names, row, strict=True))


def run(engine: Engine, number: int, seconds: float, worker: int) -> None:
    """Make a worker run tasks one after another."""
    engine.enqueue_many([{"role": "work"}] * number)
    for _ in range(number):
        claim = engine.claim_one(worker=worker)
        engine.clock.advance(seconds=seconds)
        engine.complete(claim)


def test_pending_and_ready_tasks_are_counted_separately(engine: Engine) -> None:
    """Ready means that scheduled_for has passed."""
    engine.enqueue_many([{"role": "work"}, {"role": "work", "after": 60}, {"role": "work", "key": "k"}] * 2)
    engine.claim(3, worker=1)
    assert engine.claim(3, worker=1) == []

    found = figures(engine)

    assert (found["pending_tasks"], found["ready_tasks"], found["running_tasks"]) == (3, 0, 3)


def test_rate_is_tasks_per_worker_hour(engine: Engine) -> None:
    """Fifty tasks per worker hour are 72 s per task."""
    worker = engine.worker()
    run(engine, 10, 72, worker)
    engine.enqueue_many([{"role": "work"}] * 500)
    engine.rows("select rolecall.beat(%s, 0, false)", worker)

    found = figures(engine)

    assert found["tasks_per_worker_hour"] == pytest.approx(50)
    assert found["estimated_hours_to_drain"] == pytest.approx(10)
    assert (found["claimed_last_hour"], found["completed_last_hour"], found["failed_last_hour"]) == (10, 10, 0)


def test_rate_is_multiplied_by_the_slots_of_a_worker(engine: Engine) -> None:
    worker = engine.worker(slots=4)
    run(engine, 2, 36, worker)
    engine.rows("select rolecall.beat(%s, 0, false)", worker)

    assert figures(engine)["tasks_per_worker_hour"] == pytest.approx(400)


@pytest.mark.parametrize(("seconds", "active"), [(50, 2), (70, 1)])
def test_worker_is_active_for_a_minute_after_its_heartbeat(engine: Engine, seconds: int, active: int) -> None:
    engine.worker()
    other = engine.worker("work")
    engine.worker("other-role")
    engine.clock.advance(seconds=seconds)
    engine.rows("select rolecall.beat(%s, 0, false)", other)

    assert figures(engine)["active_workers"] == active


def test_deregistered_worker_is_not_active(engine: Engine) -> None:
    engine.rows("select rolecall.deregister_worker(%s)", engine.worker())

    assert figures(engine)["active_workers"] == 0


def test_failures_are_counted_separately(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work"}] * 2)
    first, second = engine.claim(2, worker=1)
    engine.fail(first, final=True)
    engine.complete(second)

    found = figures(engine)

    assert (found["completed_last_hour"], found["failed_last_hour"]) == (1, 1)


def test_rate_is_unknown_after_an_hour_without_tasks(engine: Engine) -> None:
    run(engine, 1, 10, engine.worker())
    engine.clock.advance(minutes=61)
    engine.enqueue()

    found = figures(engine)

    assert (found["completed_last_hour"], found["tasks_per_worker_hour"], found["estimated_hours_to_drain"]) == (
        0,
        None,
        None,
    )


def test_role_without_tasks_and_workers_is_included(engine: Engine) -> None:
    engine.declare({"name": "quiet"})

    assert figures(engine, "quiet")["pending_tasks"] == 0


def test_arrivals_and_the_longest_wait_are_reported(engine: Engine) -> None:
    engine.enqueue()
    engine.clock.advance(minutes=61)
    worker = engine.worker()
    engine.complete(engine.claim_one(worker=worker))
    engine.enqueue_many([{"role": "work"}, {"role": "work", "after": 3600}, {"role": "work"}])
    engine.clock.advance(seconds=30)
    engine.complete(engine.claim_one(worker=worker))

    found = figures(engine)

    assert (found["arrived_last_hour"], found["oldest_waiting_seconds"]) == (3, 30)


def test_tasks_that_run_in_one_call_share_its_duration(engine: Engine) -> None:
    """Slots of a worker share its time: fifty tasks in one call of 36 s are 5,000 an hour."""
    worker = engine.worker()
    engine.enqueue_many([{"role": "work"}] * 50)
    claims = engine.claim(50, worker=worker)
    engine.clock.advance(seconds=36)
    engine.finish(worker, *({"id": claim.id, "fence": claim.fence, "outcome": "completed"} for claim in claims))

    assert figures(engine)["tasks_per_worker_hour"] == pytest.approx(5000)


def test_cost_of_a_task_includes_both_of_its_attempts(engine: Engine) -> None:
    worker = engine.worker()
    engine.enqueue()
    for outcome in (engine.fail, engine.complete):
        claim = engine.claim_one(worker=worker)
        engine.clock.advance(seconds=36)
        outcome(claim)
        engine.clock.advance(seconds=60)

    assert figures(engine)["tasks_per_worker_hour"] == pytest.approx(50)


def test_task_finished_from_outside_is_not_measured(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.claim_one()
    engine.clock.advance(seconds=10)
    engine.complete_task(task_id)

    found = figures(engine)

    assert (found["completed_last_hour"], found["measured_runs"], found["tasks_per_worker_hour"]) == (1, 0, None)


def test_draining_worker_and_worker_without_a_matching_handler_are_not_active(engine: Engine) -> None:
    engine.rows("select rolecall.command_worker(%s, 'drain')", engine.worker())
    engine.rows("select rolecall.register_worker('w', '{}', '{other}', 1, 'host', 1, '0')")
    engine.worker()

    assert figures(engine)["active_workers"] == 1


def test_paused_role_is_marked(engine: Engine) -> None:
    engine.rows("select rolecall.pause_role('work', 60)")
    assert figures(engine)["paused"] is True
    engine.clock.advance(seconds=60)
    assert figures(engine)["paused"] is False


def test_only_the_last_hour_of_finished_tasks_is_read(live_engine: Engine) -> None:
    engine = live_engine
    engine.rows("select rolecall.make_partitions()")
    [(line,)] = engine.rows("select rolecall.find_or_add_line('work', 'work', 0, false, '{}')")
    engine.rows(
        "insert into rolecall.finished_tasks (id, chain_id, created_at, scheduled_for, claimed_at, started_at, finished_at,"
        " worker_id, line_id, chain_index, fence, attempt, state, payload)"
        " select n, n, at, at, at, at, at, 1, %s, 0, 1, 1, 'completed', '{}'"
        " from (select n, rolecall.clock() - interval '20 days' + n * interval '20 days' / 60000 as at"
        " from generate_series(1, 60000) n) as old",
        line,
    )
    engine.rows("vacuum analyze rolecall.finished_tasks")

    assert engine.value("select completed_last_hour from rolecall.capacity()") == pytest.approx(125, abs=2)
    whole = engine.value("select sum(pg_relation_size(relid)) / 8192 from pg_partition_tree('rolecall.finished_tasks')")
    assert buffers(engine, "select * from rolecall.capacity()") < 400 < whole
