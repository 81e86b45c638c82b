"""The rates of roles that share workers, and rates measured while tasks wait."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sql.engine import Engine

ROLES = ("one", "two", "three")


@pytest.fixture
def shared(engine: Engine) -> Engine:
    engine.declare(*({"name": name} for name in ROLES))
    return engine


def figures(engine: Engine) -> dict[str, dict[str, Any]]:
    cursor = engine.connection.execute("select * from rolecall.capacity()")
    names = [column.name for column in cursor.description or ()]
    return {row[0]: dict(zip(names, row, strict=True)) for row in cursor.fetchall()}


def run_in_turn(engine: Engine, worker: int, *runs: tuple[str, float]) -> None:
    """Run one task of each role in this order, for so many seconds each."""
    for role, seconds in runs:
        engine.enqueue(role)
        claim = engine.claim_one(role, worker=worker)
        engine.clock.advance(seconds=seconds)
        engine.complete(claim)
    engine.rows("select rolecall.beat(%s, 0, false)", worker)


def test_full_worker_is_shared_by_the_slot_time_of_its_roles(shared: Engine) -> None:
    """In 600 s, one role used 400 s with tasks of 40 s, and the other 200 s with tasks of 20 s."""
    run_in_turn(shared, shared.worker("one", "two"), *[("one", 40), ("two", 20)] * 10)
    shared.enqueue_many([{"role": role} for role in ("one", "two")] * 60)

    found = figures(shared)

    assert [found[role]["tasks_per_worker_hour"] for role in ("one", "two")] == pytest.approx([60, 60])
    assert found["one"]["estimated_hours_to_drain"] == pytest.approx(1)


def test_idle_slots_are_shared_by_the_roles_with_tasks(shared: Engine) -> None:
    worker = shared.worker(*ROLES, slots=4)
    run_in_turn(shared, worker, *[("one", 10), ("two", 10), ("three", 10)] * 3)
    shared.enqueue_many([{"role": "one"}, {"role": "two"}])

    found = figures(shared)

    # Each role used a third of a slot; two roles share the three idle slots.
    assert found["one"]["tasks_per_worker_hour"] == pytest.approx(360 * (1 / 3 + 3 / 2))
    assert found["three"]["tasks_per_worker_hour"] == pytest.approx(360 * (1 / 3 + 3 / 3))


def test_slots_of_running_tasks_are_in_use(shared: Engine) -> None:
    worker = shared.worker(*ROLES, slots=2)
    run_in_turn(shared, worker, ("one", 10))
    shared.enqueue("two")
    shared.claim_one("two", worker=worker)
    shared.clock.advance(minutes=30)
    shared.rows("select rolecall.beat(%s, 0, false)", worker)

    assert figures(shared)["one"]["tasks_per_worker_hour"] == pytest.approx(360)


def test_role_that_did_not_run_recently_gets_a_part_of_a_full_worker(shared: Engine) -> None:
    worker = shared.worker(*ROLES)
    run_in_turn(shared, worker, ("one", 36), *[("two", 36)] * 20)
    shared.enqueue("one")

    assert figures(shared)["one"]["tasks_per_worker_hour"] == pytest.approx(50)


def test_rate_is_measured_while_tasks_wait(shared: Engine) -> None:
    """A worker with ten slots that runs one task at a time forecasts one task at a time."""
    worker = shared.worker("one", slots=10)
    shared.enqueue_many([{"role": "one"}] * 30)
    run_in_turn(shared, worker, *[("one", 12)] * 10)

    found = figures(shared)["one"]

    assert (found["measured_seconds"], found["tasks_per_worker_hour"]) == (120, pytest.approx(300))
    assert found["estimated_hours_to_drain"] == pytest.approx(0.1)


def test_measurement_begins_with_the_latest_worker(shared: Engine) -> None:
    shared.enqueue_many([{"role": "one"}] * 99)
    first = shared.worker("one")
    run_in_turn(shared, first, *[("one", 12)] * 10)
    second = shared.worker("one")

    assert figures(shared)["one"]["measured_seconds"] is None

    run_in_turn(shared, second, *[("one", 12)] * 10)
    shared.rows("select rolecall.beat(%s, 0, false)", first)

    found = figures(shared)["one"]
    assert (found["measured_seconds"], found["active_workers"]) == (120, 2)
    assert found["tasks_per_worker_hour"] == pytest.approx(150)


def test_measurement_lasts_ten_minutes_at_most(shared: Engine) -> None:
    shared.enqueue_many([{"role": "one"}] * 99)
    run_in_turn(shared, shared.worker("one"), *[("one", 72)] * 20)

    found = figures(shared)["one"]

    assert (found["measured_seconds"], found["tasks_per_worker_hour"]) == (600, pytest.approx(54, rel=0.2))


def test_many_roles_and_workers_are_read_within_seconds(shared: Engine) -> None:
    """Each worker serves each role. A comparison of every pair with every other one would take minutes."""
    roles = [f"role-{number}" for number in range(200)]
    shared.declare(*({"name": role} for role in roles))
    shared.enqueue_many([{"role": role} for role in roles])
    for _ in range(300):
        shared.worker(*roles)
    shared.rows("set statement_timeout = '20s'")

    assert figures(shared)["role-7"]["active_workers"] == 300
