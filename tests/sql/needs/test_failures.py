"""The effects of needs that fail or are cancelled."""

from __future__ import annotations

import pytest

from tests.sql.engine import Engine, report
from tests.sql.families import WORK, family, finish_off, parent_of


def ended_badly(engine: Engine, way: str) -> int:
    """Return a failed or cancelled task."""
    task_id = engine.enqueue()
    if way == "failed":
        engine.fail(engine.claim_one(), final=True)
    else:
        engine.cancel(task_id)
    return task_id


@pytest.mark.parametrize("way", ["failed", "cancelled"])
def test_a_task_fails_with_what_it_needs(engine: Engine, way: str) -> None:
    needed = engine.enqueue()
    task_id = engine.enqueue(needs=[needed])
    if way == "failed":
        engine.fail(engine.claim_one(), final=True)
    else:
        engine.cancel(needed)

    assert engine.state(task_id) == "failed"
    assert engine.task(task_id).error == f"dependency failed: task {needed}, which this one needs, did not complete"


@pytest.mark.parametrize("way", ["failed", "cancelled"])
def test_a_task_fails_at_once_with_what_has_failed_before(engine: Engine, way: str) -> None:
    needed = ended_badly(engine, way)

    assert engine.state(engine.enqueue(needs=[needed])) == "failed"


@pytest.mark.parametrize("way", ["failed", "cancelled"])
def test_an_ignored_failure_lets_the_task_run(engine: Engine, way: str) -> None:
    needed = ended_badly(engine, way)
    task_id = engine.enqueue(needs=[{"task": needed, "on_failure": "ignore"}])

    assert engine.state(task_id) == "pending"
    assert engine.rows("select outcome::text from rolecall.needs") == [(way,)]


def test_one_fatal_failure_among_several_needs_fails_the_task_once(engine: Engine) -> None:
    needed, _ = engine.enqueue_many([WORK] * 3)
    task_id = engine.enqueue(needs=[{"task": needed[0], "on_failure": "ignore"}, needed[1], needed[2]])
    claims = list(engine.claim_all().values())
    engine.finish(claims[0].worker_id, *(report(claim, "failed", final=True, error="x") for claim in claims))

    assert engine.state(task_id) == "failed"
    assert engine.task(task_id).error.split()[3] == f"{needed[1]},"  # type: ignore[union-attr]


def test_needs_that_end_after_their_task_has_failed_change_nothing(engine: Engine) -> None:
    needed, _ = engine.enqueue_many([WORK] * 2)
    task_id = engine.enqueue(needs=needed)
    first, second = engine.claim_all().values()
    engine.fail(first, final=True)
    engine.complete(second)

    assert (engine.state(task_id), engine.state(second.id)) == ("failed", "completed")


def test_failure_runs_along_a_row_of_needs(engine: Engine) -> None:
    ids, _ = engine.enqueue_many([WORK, *({**WORK, "needs": [{"item": n}]} for n in range(5))])
    engine.fail(engine.claim_one(), final=True)

    assert [engine.state(task_id) for task_id in ids] == ["failed"] * 6


def test_a_try_that_fails_with_more_to_come_fails_nobody(engine: Engine) -> None:
    engine.enqueue()
    task_id = engine.enqueue(needs=[1])
    engine.fail(engine.claim_one(), after=0)

    assert engine.state(task_id) == "blocked"


def test_a_child_that_fails_with_what_it_needs_ends_its_parent(engine: Engine) -> None:
    needed = engine.enqueue(after=600)
    parent_id, (child,) = parent_of(engine, {**WORK, "needs": [needed]})
    engine.cancel(needed)

    assert (engine.state(child), engine.state(parent_id)) == ("failed", "failed")


def test_a_child_that_fails_as_it_is_spawned_is_counted_once(engine: Engine) -> None:
    """The parent's count must be correct before the child can finish."""
    needed = ended_badly(engine, "cancelled")
    parent_id, _ = parent_of(engine, {**WORK, "needs": [needed]}, WORK)

    assert (engine.state(parent_id), engine.task(parent_id).open_children) == ("waiting", 1)
    finish_off(engine)
    assert engine.state(parent_id) == "failed"


def test_a_parent_whose_children_all_fail_as_they_are_spawned_fails_at_once(engine: Engine) -> None:
    needed = ended_badly(engine, "cancelled")
    parent_id, _ = parent_of(engine, *[{**WORK, "needs": [needed]}] * 3)

    assert engine.state(parent_id) == "failed"


@pytest.mark.parametrize("outside", [True, False])
def test_a_sibling_that_fails_as_it_is_added_does_not_end_the_parent_early(engine: Engine, outside: bool) -> None:
    needed = ended_badly(engine, "cancelled")
    parent_id, _ = family(engine, 2, on_failure="ignore")
    draft = {**WORK, "needs": [needed], "on_failure": "ignore"}
    claims = list(engine.claim_all().values())
    if outside:
        engine.complete(claims[0])
        engine.spawn(parent_id, draft)
    else:
        engine.complete(claims[0], next={"siblings": [draft]})

    assert (engine.state(parent_id), engine.task(parent_id).open_children) == ("waiting", 1)
    engine.complete(claims[1])
    assert engine.state(parent_id) == "completed"


def test_a_sibling_that_cancels_the_others_as_it_is_added_ends_the_parent(engine: Engine) -> None:
    needed = ended_badly(engine, "cancelled")
    parent_id, children = family(engine, 2)
    engine.spawn(parent_id, {**WORK, "needs": [needed], "on_failure": "cancel_siblings"}, {**WORK, "dedupe_key": "d"})

    assert [engine.state(child) for child in children] == ["cancelled", "cancelled"]
    assert engine.state(parent_id) == "failed"
