"""The effects of a failed child on its parent and siblings."""

from __future__ import annotations

import pytest

from tests.sql.engine import LEASE, Engine, report
from tests.sql.families import WORK, family, finish_off, parent_of, spread


@pytest.mark.parametrize("rule", [{}, {"on_failure": "fail_parent"}], ids=str)
def test_failed_child_fails_its_parent_after_all_siblings_have_finished(engine: Engine, rule: dict[str, str]) -> None:
    parent_id, (first, second) = parent_of(engine, {**WORK, **rule}, WORK)
    claims = engine.claim_all()
    engine.fail(claims[first], final=True)
    between = (engine.state(parent_id), engine.state(second))
    engine.complete(claims[second])

    assert between == ("waiting", "running")
    assert (engine.state(parent_id), engine.task(parent_id).error) == ("failed", "One or more child tasks failed")


def test_parent_of_a_failed_child_is_not_retried(engine: Engine) -> None:
    parent_id, _ = family(engine, 1)
    engine.fail(engine.claim_one(), final=True)
    engine.clock.advance(days=1)

    assert engine.claim(1) == []
    assert engine.task(parent_id).finished_at is not None


def test_failure_propagates_to_the_root(engine: Engine) -> None:
    engine.enqueue()
    for _ in range(3):
        spread(engine, engine.claim_one(), WORK)
    engine.fail(engine.claim_one(), final=True)

    assert {task.state for task in engine.tasks()} == {"failed"}


def test_ignored_failure_does_not_fail_the_parent(engine: Engine) -> None:
    parent_id, children = parent_of(engine, {**WORK, "on_failure": "ignore"})
    engine.fail(engine.claim_one(), final=True)

    assert (engine.state(children[0]), engine.state(parent_id)) == ("failed", "completed")


def test_cancel_siblings_cancels_pending_siblings_and_requests_it_of_running_ones(engine: Engine) -> None:
    parent_id, children = parent_of(engine, {**WORK, "on_failure": "cancel_siblings"}, WORK, {**WORK, "after": 60})
    claims = engine.claim_all()
    engine.fail(claims[children[0]], final=True)

    assert [engine.state(child) for child in children] == ["failed", "running", "cancelled"]
    assert engine.task(children[1]).cancel_requested_at is not None
    assert engine.state(parent_id) == "waiting"
    engine.report(claims[children[1]], "cancelled")
    assert engine.state(parent_id) == "failed"


def test_cancel_siblings_cancels_their_subtrees(engine: Engine) -> None:
    parent_id, (first, second) = parent_of(engine, {**WORK, "on_failure": "cancel_siblings"}, WORK)
    claims = engine.claim_all()
    leaves = spread(engine, claims[second], WORK, WORK)
    engine.fail(claims[first], final=True)

    assert {engine.state(task_id) for task_id in (second, *leaves)} == {"cancelled"}
    assert engine.state(parent_id) == "failed"


def test_parent_fails_even_if_a_cancel_requested_sibling_completes(engine: Engine) -> None:
    parent_id, (first, second) = parent_of(engine, {**WORK, "on_failure": "cancel_siblings"}, WORK)
    claims = engine.claim_all()
    engine.fail(claims[first], final=True)
    engine.complete(claims[second])

    assert (engine.state(second), engine.state(parent_id)) == ("completed", "failed")


def test_several_cancel_siblings_children_can_fail_in_one_call(engine: Engine) -> None:
    parent_id, children = family(engine, 5, on_failure="cancel_siblings")
    claims = engine.claim(3)
    engine.finish(claims[0].worker_id, *(report(claim, "failed", final=True, error="x") for claim in claims))

    assert [engine.state(child) for child in children] == ["failed"] * 3 + ["cancelled"] * 2
    assert engine.state(parent_id) == "failed"


def test_failed_attempt_with_retries_left_affects_no_other_task(engine: Engine) -> None:
    parent_id, (first, second) = parent_of(engine, {**WORK, "on_failure": "cancel_siblings"}, WORK)
    claims = engine.claim_all()
    engine.fail(claims[first])

    assert [engine.state(task_id) for task_id in (first, second, parent_id)] == ["pending", "running", "waiting"]


def test_cancelled_child_fails_its_parent(engine: Engine) -> None:
    parent_id, (first, _) = family(engine, 2)
    engine.cancel(first)
    finish_off(engine)

    assert engine.state(parent_id) == "failed"


@pytest.mark.parametrize("way", ["crash", "timeout"])
def test_child_that_exhausts_its_attempts_by_crash_or_timeout_fails_its_parent(engine: Engine, way: str) -> None:
    parent_id, _ = family(engine, 1, max_attempts=1)
    engine.claim_one()
    engine.clock.advance(seconds=LEASE + 1 if way == "crash" else 3601)
    engine.rescue()

    assert engine.state(parent_id) == "failed"


def test_deregistered_worker_ends_cancel_requested_tasks_and_their_parents(engine: Engine) -> None:
    parent_id, _ = family(engine, 1)
    claim = engine.claim_one()
    engine.cancel(claim.id)
    engine.rows("select rolecall.deregister_worker(%s)", claim.worker_id)

    assert engine.state(parent_id) == "failed"


def test_failed_siblings_are_counted(engine: Engine) -> None:
    _, (first, second) = family(engine, 2)
    claims = engine.claim_all()
    before = engine.value("select rolecall.failed_siblings(%s)", second)
    engine.fail(claims[first], final=True)

    assert (before, engine.value("select rolecall.failed_siblings(%s)", second)) == (0, 1)
