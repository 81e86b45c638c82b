"""The order in which tasks are claimed: priority, then scheduled_for, then id, across all lines of a claim."""

from __future__ import annotations

import pytest

from tests.sql.engine import Engine


def claimed(engine: Engine, limit: int, *roles: str, reset_watermark: bool = True) -> list[int]:
    return [claim.id for claim in engine.claim(limit, *roles, reset_watermark=reset_watermark)]


def claimed_in_the_end(engine: Engine, limit: int) -> list[int]:
    """Claim in the same session until a task is found."""
    while not (found := claimed(engine, limit, reset_watermark=False)):
        pass
    return found


def test_higher_priority_is_claimed_first_regardless_of_age(engine: Engine) -> None:
    low, normal, high = (engine.enqueue(priority=priority) for priority in (-100, 0, 100))

    assert claimed(engine, 3) == [high, normal, low]


@pytest.mark.own_database
@pytest.mark.parametrize("number", [0, 1, 2, 30])
def test_order_does_not_depend_on_the_statistics(engine: Engine, number: int) -> None:
    """With the statistics of a small table, the planner chooses other joins."""
    for _ in range(number):
        engine.enqueue(after=100)
    engine.rows("vacuum analyze rolecall.tasks")
    low, normal, high = (engine.enqueue(priority=priority) for priority in (-100, 0, 100))

    assert claimed(engine, 3) == [high, normal, low]


def test_earlier_due_task_is_claimed_first_within_a_priority(engine: Engine) -> None:
    late, early = engine.enqueue(after=20), engine.enqueue(after=10)
    engine.clock.advance(seconds=30)

    assert claimed(engine, 2) == [early, late]


def test_tasks_due_at_the_same_time_are_claimed_by_id(engine: Engine) -> None:
    ids, _ = engine.enqueue_many([{"role": "work"}] * 5)

    assert claimed(engine, 5) == ids


def test_claims_continue_at_the_watermark(engine: Engine) -> None:
    ids, _ = engine.enqueue_many([{"role": "work"}] * 6)

    assert [claimed(engine, 2, reset_watermark=False) for _ in range(3)] == [ids[0:2], ids[2:4], ids[4:6]]


@pytest.mark.parametrize("limit", [1, 2, 7, 50])
def test_several_roles_and_handlers_are_claimed_in_one_order(engine: Engine, limit: int) -> None:
    engine.declare({"name": "other"}, handlers=[{"name": "special", "role": "work"}])
    ids = []
    for n in range(30):
        words = [{"role": "work"}, {"role": "other"}, {"role": "work", "handler": "special"}][n * n % 3]
        ids.append(engine.enqueue(**words, priority=n % 2))
        engine.clock.advance(seconds=1)
    expected = ids[1::2] + ids[0::2]

    order: list[int] = []
    while got := claimed(engine, limit, reset_watermark=False):
        order += got

    assert order == expected


def test_task_below_the_watermark_is_claimed_when_no_other_is_left(engine: Engine) -> None:
    """A released task is below the position where the session's last scan stopped."""
    first, second = engine.enqueue(), engine.enqueue()
    claims = engine.claim(2, reset_watermark=False)

    engine.release(claims[0])

    assert claimed_in_the_end(engine, 2) == [first]
    assert engine.task(second).state == "running"


def test_task_below_the_watermark_is_claimed_with_other_lines_present(engine: Engine) -> None:
    engine.declare({"name": "other"})
    first = engine.enqueue()
    engine.enqueue("other")
    claim, _ = engine.claim(2, reset_watermark=False)

    engine.release(claim)

    assert claimed_in_the_end(engine, 2) == [first]


def test_line_with_parked_tasks_yields_to_other_lines(engine: Engine) -> None:
    engine.declare({"name": "other"})
    engine.enqueue(key="store")
    engine.claim_one()
    engine.enqueue(key="store")
    engine.clock.advance(seconds=1)
    free = engine.enqueue("other")

    assert claimed(engine, 1) == [free]


def test_scan_past_busy_keys_skips_no_free_task(engine: Engine) -> None:
    engine.enqueue(key="store")
    engine.claim_one()
    busy, _ = engine.enqueue_many([{"role": "work", "key": "store"}] * 5)
    free, _ = engine.enqueue_many([{"role": "work"}] * 13)
    worker = engine.worker()

    assert [claim.id for claim in engine.claim(10, worker=worker, reset_watermark=False)] == free[:10]
    engine.enqueue()
    assert [claim.id for claim in engine.claim(3, worker=worker, reset_watermark=False)] == free[10:]
    assert {engine.task(task_id).status for task_id in busy} == {"parked"}


def test_retried_task_is_ordered_by_its_new_due_time(engine: Engine) -> None:
    failing = engine.enqueue()
    engine.fail(engine.claim_one())
    engine.clock.advance(seconds=9)
    fresh = engine.enqueue()
    engine.clock.advance(seconds=1)

    assert claimed(engine, 2) == [fresh, failing]
