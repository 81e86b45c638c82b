"""Needs set when a task is enqueued: it is blocked until all of them have finished."""

from __future__ import annotations

import pytest

from tests.sql.engine import Document, Engine
from tests.sql.families import WORK, finish_off, parent_of


def outcomes(engine: Engine, task_id: int) -> list[tuple[str | None, int, str | None]]:
    """Return the needs of a task, in the order declared."""
    return engine.rows(
        "select name, needed_id, outcome::text from rolecall.needs where task_id = %s order by position", task_id
    )


def test_task_is_blocked_until_its_need_has_completed(engine: Engine) -> None:
    needed = engine.enqueue()
    task_id = engine.enqueue(needs=[needed])
    [claim] = engine.claim(10)

    assert (claim.id, engine.state(task_id), engine.task(task_id).open_needs) == (needed, "blocked", 1)
    engine.complete(claim)
    assert engine.claim_one().id == task_id


def test_task_is_blocked_until_its_last_need_has_completed(engine: Engine) -> None:
    needed, _ = engine.enqueue_many([WORK] * 3)
    task_id = engine.enqueue(needs=needed)
    states = []
    for claim in engine.claim_all().values():
        states.append((engine.state(task_id), engine.task(task_id).open_needs))
        engine.complete(claim)

    assert states == [("blocked", 3), ("blocked", 2), ("blocked", 1)]
    assert engine.state(task_id) == "pending"


@pytest.mark.parametrize("need", [{}, {"name": "input"}, {"on_failure": "ignore"}], ids=str)
def test_need_can_be_an_id_or_an_object(engine: Engine, need: Document) -> None:
    needed = engine.enqueue()
    task_id = engine.enqueue(needs=[{"task": needed, **need}])

    assert finish_off(engine) == [needed, task_id]


def test_needs_keep_their_names_and_their_order(engine: Engine) -> None:
    """Results are read in the order declared, whichever need finished first."""
    first, second, third = engine.enqueue_many([WORK] * 3)[0]
    task_id = engine.enqueue(needs=[third, {"task": first, "name": "menu"}, {"task": second, "name": "store"}])
    claims = engine.claim_all()
    for needed in (second, third, first):
        engine.complete(claims[needed], result={"of": needed})

    assert outcomes(engine, task_id) == [
        (None, third, "completed"),
        ("menu", first, "completed"),
        ("store", second, "completed"),
    ]
    results = engine.rows("select name, result from rolecall.needs_of(%s)", task_id)
    assert results == [(None, {"of": third}), ("menu", {"of": first}), ("store", {"of": second})]


def test_tasks_of_one_batch_need_each_other_by_position(engine: Engine) -> None:
    batch = [WORK, {**WORK, "needs": [{"item": 0}]}, {**WORK, "needs": [{"item": 0}, {"item": 1}]}]
    ids, _ = engine.enqueue_many(batch)

    assert [engine.task(task_id).open_needs for task_id in ids] == [0, 1, 2]
    assert finish_off(engine) == ids


def test_need_on_a_duplicate_refers_to_the_existing_task(engine: Engine) -> None:
    twin = engine.enqueue(dedupe_key="d")
    [_, task_id], _ = engine.enqueue_many([{**WORK, "dedupe_key": "d"}, {**WORK, "needs": [{"item": 0}]}])

    assert finish_off(engine) == [twin, task_id]


def test_one_task_can_be_needed_by_many(engine: Engine) -> None:
    needed = engine.enqueue()
    ids, _ = engine.enqueue_many([{**WORK, "needs": [needed]}] * 20)
    engine.complete(engine.claim_one())

    assert sorted(engine.claim_all()) == ids


def test_same_task_can_be_needed_twice(engine: Engine) -> None:
    needed = engine.enqueue()
    task_id = engine.enqueue(needs=[needed, needed])

    assert finish_off(engine) == [needed, task_id]


def test_empty_needs_have_no_effect(engine: Engine) -> None:
    assert [engine.state(engine.enqueue(needs=needs)) for needs in (None, list[int]())] == ["pending"] * 2


def test_completed_need_does_not_block(engine: Engine) -> None:
    needed = engine.enqueue()
    engine.complete(engine.claim_one())
    task_id = engine.enqueue(needs=[needed])

    assert (engine.state(task_id), outcomes(engine, task_id)) == ("pending", [(None, needed, "completed")])


def test_open_need_blocks_despite_a_completed_one(engine: Engine) -> None:
    done = engine.enqueue()
    engine.complete(engine.claim_one())
    still_open = engine.enqueue()
    task_id = engine.enqueue(needs=[done, still_open])

    assert (engine.state(task_id), engine.task(task_id).open_needs) == ("blocked", 1)


def test_needed_parent_is_awaited_with_its_children(engine: Engine) -> None:
    parent_id, (child,) = parent_of(engine, WORK)
    task_id = engine.enqueue(needs=[parent_id])

    assert finish_off(engine) == [child, task_id]


def test_need_that_is_snoozed_returned_or_retried_is_still_open(engine: Engine) -> None:
    engine.enqueue()
    task_id = engine.enqueue(needs=[1])
    engine.snooze(engine.claim_one(), 0)
    engine.release(engine.claim_one())
    engine.fail(engine.claim_one(), after=0)

    assert engine.state(task_id) == "blocked"
    assert finish_off(engine) == [1, task_id]


def test_rolled_back_completion_leaves_dependents_blocked(engine: Engine) -> None:
    engine.enqueue()
    task_id = engine.enqueue(needs=[1])
    claim = engine.claim_one()
    engine.rows("begin")
    engine.complete(claim)
    inside = engine.state(task_id)
    engine.rows("rollback")

    assert (inside, engine.state(task_id)) == ("pending", "blocked")
    engine.complete(claim)
    assert engine.state(task_id) == "pending"


def test_rolled_back_enqueue_leaves_no_needs(engine: Engine) -> None:
    needed = engine.enqueue()
    engine.rows("begin")
    engine.enqueue(needs=[needed])
    engine.rows("rollback")

    assert finish_off(engine) == [needed]
    assert engine.rows("select from rolecall.needs") == []


def test_cancelling_a_need_settles_it(engine: Engine) -> None:
    needed = engine.enqueue()
    task_id = engine.enqueue(needs=[{"task": needed, "on_failure": "ignore"}])
    engine.cancel(needed)

    assert engine.claim_one().id == task_id


def test_blocked_task_does_not_hold_its_key(engine: Engine) -> None:
    needed = engine.enqueue()
    task_id = engine.enqueue(needs=[needed], key="store")
    other = engine.enqueue(key="store")

    assert sorted(engine.claim_all()) == [needed, other]
    assert engine.state(task_id) == "blocked"


def test_blocked_task_can_be_cancelled(engine: Engine) -> None:
    needed = engine.enqueue()
    task_id = engine.enqueue(needs=[needed])

    assert engine.cancel(task_id) == {task_id: "cancelled"}
    assert finish_off(engine) == [needed]
    assert engine.state(task_id) == "cancelled"


def test_blocked_task_is_matched_by_its_dedupe_key(engine: Engine) -> None:
    needed = engine.enqueue()
    task_id = engine.enqueue(needs=[needed], dedupe_key="d")

    assert engine.enqueue(dedupe_key="d") == task_id
