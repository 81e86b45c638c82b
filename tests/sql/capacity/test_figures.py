"""The capacity figures: what waits, who works, how fast, how long it will take."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sql.engine import Engine


def figures(engine: Engine, role: str = "work") -> dict[str, Any]:
    cursor = engine.connection.execute("select * from rolecall.capacity() where role = %s", [role])
    names = [column.name for column in cursor.description or ()]
    [row] = cursor.fetchall()
    return dict(zip(names, row, strict=True))


def run(engine: Engine, number: int, seconds: float, worker: int) -> None:
    """Let a worker do tasks, one after the other."""
    engine.enqueue_many([{"role": "work"}] * number)
    for _ in range(number):
        claim = engine.claim_one(worker=worker)
        engine.clock.advance(seconds=seconds)
        engine.complete(claim)


def test_what_waits_is_told_from_what_is_ready(engine: Engine) -> None:
    """Covers SPEC 000-24: ready means that scheduled_for has passed."""
    engine.enqueue_many([{"role": "work"}, {"role": "work", "after": 60}, {"role": "work", "key": "k"}] * 2)
    engine.claim(3, worker=1)
    assert engine.claim(3, worker=1) == []

    found = figures(engine)

    assert (found["pending_tasks"], found["ready_tasks"], found["running_tasks"]) == (3, 0, 3)


def test_the_rate_is_that_of_a_worker_in_an_hour_of_work(engine: Engine) -> None:
    """Covers SPEC 000-24 and 000-25: fifty in a worker's hour are 72 s a task."""
    worker = engine.worker()
    run(engine, 10, 72, worker)
    engine.enqueue_many([{"role": "work"}] * 500)
    engine.rows("select rolecall.beat(%s, 0, false)", worker)

    found = figures(engine)

    assert found["tasks_per_worker_hour"] == pytest.approx(50)
    assert found["estimated_hours_to_drain"] == pytest.approx(10)
    assert (found["claimed_last_hour"], found["completed_last_hour"], found["failed_last_hour"]) == (10, 10, 0)


def test_a_worker_with_more_slots_does_as_much_more(engine: Engine) -> None:
    worker = engine.worker(slots=4)
    run(engine, 2, 36, worker)
    engine.rows("select rolecall.beat(%s, 0, false)", worker)

    assert figures(engine)["tasks_per_worker_hour"] == pytest.approx(400)


@pytest.mark.parametrize(("minutes", "active"), [(4, 2), (6, 1)])
def test_a_worker_is_active_for_five_minutes_after_its_heartbeat(engine: Engine, minutes: int, active: int) -> None:
    """Covers SPEC 000-26."""
    engine.worker()
    other = engine.worker("work")
    engine.worker("other-role")
    engine.clock.advance(minutes=minutes)
    engine.rows("select rolecall.beat(%s, 0, false)", other)

    assert figures(engine)["active_workers"] == active


def test_a_worker_that_has_left_is_not_active(engine: Engine) -> None:
    engine.rows("select rolecall.deregister_worker(%s)", engine.worker())

    assert figures(engine)["active_workers"] == 0


def test_failures_are_counted_apart(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work"}] * 2)
    first, second = engine.claim(2, worker=1)
    engine.fail(first, final=True)
    engine.complete(second)

    found = figures(engine)

    assert (found["completed_last_hour"], found["failed_last_hour"]) == (1, 1)


def test_an_hour_later_the_rate_is_unknown(engine: Engine) -> None:
    run(engine, 1, 10, engine.worker())
    engine.clock.advance(minutes=61)
    engine.enqueue()

    found = figures(engine)

    assert (found["completed_last_hour"], found["tasks_per_worker_hour"], found["estimated_hours_to_drain"]) == (
        0,
        None,
        None,
    )


def test_a_role_without_tasks_and_workers_is_told_too(engine: Engine) -> None:
    engine.declare({"name": "quiet"})

    assert figures(engine, "quiet")["pending_tasks"] == 0
