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


def test_a_higher_priority_goes_first_whatever_its_age(engine: Engine) -> None:
    low, normal, high = (engine.enqueue(priority=priority) for priority in (-100, 0, 100))

    assert claimed(engine, 3) == [high, normal, low]


def test_within_a_priority_the_earlier_due_task_goes_first(engine: Engine) -> None:
    late, early = engine.enqueue(after=20), engine.enqueue(after=10)
    engine.clock.advance(seconds=30)

    assert claimed(engine, 2) == [early, late]


def test_what_is_due_at_the_same_moment_goes_by_id(engine: Engine) -> None:
    ids, _ = engine.enqueue_many([{"role": "work"}] * 5)

    assert claimed(engine, 5) == ids


def test_claims_go_on_where_the_last_one_stopped(engine: Engine) -> None:
    ids, _ = engine.enqueue_many([{"role": "work"}] * 6)

    assert [claimed(engine, 2, reset_watermark=False) for _ in range(3)] == [ids[0:2], ids[2:4], ids[4:6]]


@pytest.mark.parametrize("limit", [1, 2, 7, 50])
def test_several_roles_and_handlers_are_served_as_one_line(engine: Engine, limit: int) -> None:
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


def test_a_task_below_the_sessions_floor_is_found_when_nothing_else_is_left(engine: Engine) -> None:
    """A released task is below the position where the session's last scan stopped."""
    first, second = engine.enqueue(), engine.enqueue()
    claims = engine.claim(2, reset_watermark=False)

    engine.release(claims[0])

    assert claimed_in_the_end(engine, 2) == [first]
    assert engine.task(second).state == "running"


def test_a_task_below_the_floor_is_found_beside_other_lines(engine: Engine) -> None:
    engine.declare({"name": "other"})
    first = engine.enqueue()
    engine.enqueue("other")
    claim, _ = engine.claim(2, reset_watermark=False)

    engine.release(claim)

    assert claimed_in_the_end(engine, 2) == [first]


def test_a_line_whose_tasks_wait_for_a_key_leaves_its_place_to_the_other_lines(engine: Engine) -> None:
    engine.declare({"name": "other"})
    engine.enqueue(key="store")
    engine.claim_one()
    engine.enqueue(key="store")
    engine.clock.advance(seconds=1)
    free = engine.enqueue("other")

    assert claimed(engine, 1) == [free]


def test_a_walk_past_busy_keys_leaves_no_free_task_behind(engine: Engine) -> None:
    engine.enqueue(key="store")
    engine.claim_one()
    busy, _ = engine.enqueue_many([{"role": "work", "key": "store"}] * 5)
    free, _ = engine.enqueue_many([{"role": "work"}] * 13)
    worker = engine.worker()

    assert [claim.id for claim in engine.claim(10, worker=worker, reset_watermark=False)] == free[:10]
    engine.enqueue()
    assert [claim.id for claim in engine.claim(3, worker=worker, reset_watermark=False)] == free[10:]
    assert {engine.task(task_id).status for task_id in busy} == {"parked"}


def test_a_retried_task_stands_where_it_is_due_again(engine: Engine) -> None:
    failing = engine.enqueue()
    engine.fail(engine.claim_one())
    engine.clock.advance(seconds=9)
    fresh = engine.enqueue()
    engine.clock.advance(seconds=1)

    assert claimed(engine, 2) == [fresh, failing]
