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
def test_task_fails_with_its_need(engine: Engine, way: str) -> None:
    needed = engine.enqueue()
    task_id = engine.enqueue(needs=[needed])
    if way == "failed":
        engine.fail(engine.claim_one(), final=True)
    else:
        engine.cancel(needed)

    assert engine.state(task_id) == "failed"
    assert engine.task(task_id).error == f"dependency failed: task {needed}, which this one needs, did not complete"


@pytest.mark.parametrize("way", ["failed", "cancelled"])
def test_task_with_a_need_that_has_already_failed_fails_immediately(engine: Engine, way: str) -> None:
    needed = ended_badly(engine, way)

    assert engine.state(engine.enqueue(needs=[needed])) == "failed"


@pytest.mark.parametrize("way", ["failed", "cancelled"])
def test_ignored_failure_lets_the_task_run(engine: Engine, way: str) -> None:
    needed = ended_badly(engine, way)
    task_id = engine.enqueue(needs=[{"task": needed, "on_failure": "ignore"}])

    assert engine.state(task_id) == "pending"
    assert engine.rows("select outcome::text from rolecall.needs") == [(way,)]


def test_task_with_several_failed_needs_fails_once(engine: Engine) -> None:
    needed, _ = engine.enqueue_many([WORK] * 3)
    task_id = engine.enqueue(needs=[{"task": needed[0], "on_failure": "ignore"}, needed[1], needed[2]])
    claims = list(engine.claim_all().values())
    engine.finish(claims[0].worker_id, *(report(claim, "failed", final=True, error="x") for claim in claims))

    assert engine.state(task_id) == "failed"
    assert engine.task(task_id).error.split()[3] == f"{needed[1]},"  # type: ignore[union-attr]


def test_needs_that_finish_after_their_task_has_failed_have_no_effect(engine: Engine) -> None:
    needed, _ = engine.enqueue_many([WORK] * 2)
    task_id = engine.enqueue(needs=needed)
    first, second = engine.claim_all().values()
    engine.fail(first, final=True)
    engine.complete(second)

    assert (engine.state(task_id), engine.state(second.id)) == ("failed", "completed")


def test_failure_propagates_along_a_series_of_needs(engine: Engine) -> None:
    ids, _ = engine.enqueue_many([WORK, *({**WORK, "needs": [{"item": n}]} for n in range(5))])
    engine.fail(engine.claim_one(), final=True)

    assert [engine.state(task_id) for task_id in ids] == ["failed"] * 6


def test_retried_failure_does_not_fail_dependents(engine: Engine) -> None:
    engine.enqueue()
    task_id = engine.enqueue(needs=[1])
    engine.fail(engine.claim_one(), after=0)

    assert engine.state(task_id) == "blocked"


def test_child_that_fails_with_its_need_fails_its_parent(engine: Engine) -> None:
    needed = engine.enqueue(after=600)
    parent_id, (child,) = parent_of(engine, {**WORK, "needs": [needed]})
    engine.cancel(needed)

    assert (engine.state(child), engine.state(parent_id)) == ("failed", "failed")


def test_child_that_fails_while_spawned_is_counted_once(engine: Engine) -> None:
    """The parent's count must be correct before the child can finish."""
    needed = ended_badly(engine, "cancelled")
    parent_id, _ = parent_of(engine, {**WORK, "needs": [needed]}, WORK)

    assert (engine.state(parent_id), engine.task(parent_id).open_children) == ("waiting", 1)
    finish_off(engine)
    assert engine.state(parent_id) == "failed"


def test_parent_whose_children_all_fail_while_spawned_fails_immediately(engine: Engine) -> None:
    needed = ended_badly(engine, "cancelled")
    parent_id, _ = parent_of(engine, *[{**WORK, "needs": [needed]}] * 3)

    assert engine.state(parent_id) == "failed"


@pytest.mark.parametrize("outside", [True, False])
def test_sibling_that_fails_while_added_does_not_finish_the_parent_early(engine: Engine, outside: bool) -> None:
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


def test_sibling_that_cancels_the_others_while_added_fails_the_parent(engine: Engine) -> None:
    needed = ended_badly(engine, "cancelled")
    parent_id, children = family(engine, 2)
    engine.spawn(parent_id, {**WORK, "needs": [needed], "on_failure": "cancel_siblings"}, {**WORK, "dedupe_key": "d"})

    assert [engine.state(child) for child in children] == ["cancelled", "cancelled"]
    assert engine.state(parent_id) == "failed"
