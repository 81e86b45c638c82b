"""A task can be finished without a worker in any open state."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from tests.sql.engine import Claim, Engine, report
from tests.sql.invariants import check


def blocked(engine: Engine) -> int:
    return engine.enqueue(needs=[engine.enqueue(after=60)])


def later(engine: Engine) -> int:
    return engine.enqueue(after=60)


def running(engine: Engine) -> int:
    engine.enqueue()
    return engine.claim_one().id


def waiting(engine: Engine) -> int:
    engine.enqueue()
    claim = engine.claim_one()
    engine.complete(claim, next={"children": [{"role": "work"}]})
    return claim.id


def parked(engine: Engine) -> int:
    engine.enqueue(key="k")
    engine.claim_one()
    task_id = engine.enqueue(key="k")
    assert engine.claim() == []
    return task_id


STATES = [blocked, later, running, waiting, parked]


@pytest.mark.parametrize("state", STATES)
def test_open_task_is_completed_with_a_result(engine: Engine, state: Callable[[Engine], int]) -> None:
    """No worker is stored. Blocked tasks can also be completed."""
    task_id = state(engine)

    assert engine.complete_task(task_id, {"approved": True}) == "completed"

    task = engine.task(task_id)
    assert (task.state, task.result, task.worker_id) == ("completed", {"approved": True}, None)
    check(engine)


@pytest.mark.parametrize("state", STATES)
def test_open_task_is_failed_permanently(engine: Engine, state: Callable[[Engine], int]) -> None:
    task_id = state(engine)

    assert engine.fail_task(task_id, "no longer wanted") == "failed"

    assert (engine.task(task_id).state, engine.task(task_id).error) == ("failed", "no longer wanted")


def test_failure_without_a_reason_has_a_default_error(engine: Engine) -> None:
    task_id = engine.enqueue()

    engine.fail_task(task_id)

    assert engine.task(task_id).error == "failed from outside"


def test_each_id_of_a_batch_has_an_answer_and_repetition_changes_nothing(engine: Engine) -> None:
    first, second = engine.enqueue(), engine.enqueue()
    ends = [
        {"id": first, "state": "completed", "result": 1},
        {"id": 4711, "state": "completed"},
        {"id": second, "state": "failed", "error": "x"},
    ]

    assert engine.end(*ends) == [(first, "completed"), (4711, "missing"), (second, "failed")]
    assert engine.end(*ends) == [(first, "finished"), (4711, "missing"), (second, "finished")]
    assert engine.task(first).result == 1


@pytest.mark.parametrize(
    "end",
    [
        {"state": "cancelled"},
        {"state": None},
        {"state": "failed", "next": {"follow_ups": []}},
        {"state": "completed", "next": {"children": [{"role": "work"}]}},
    ],
    ids=str,
)
def test_invalid_outcome_from_outside_is_rejected(engine: Engine, end: dict[str, object]) -> None:
    task_id = engine.enqueue()

    with pytest.raises(psycopg.Error) as refusal:
        engine.end({"id": task_id, **end})

    assert refusal.value.sqlstate == "RC042"
    assert engine.task(task_id).state == "pending"


def test_claim_on_a_completed_task_is_lost_and_its_worker_notified(engine: Engine) -> None:
    """The handler is aborted with the reason `completed`."""
    engine.enqueue()
    claim = engine.claim_one()
    engine.rows("listen rolecall_cancel")

    engine.complete_task(claim.id, "outside")

    [notice] = engine.connection.notifies(timeout=30, stop_after=1)
    assert notice.payload == str(claim.worker_id)
    assert engine.renew(claim) == {claim.id: "completed"}
    assert engine.complete(claim, result="inside") == "completed"
    assert engine.task(claim.id).result == "outside"


def test_claim_on_a_failed_task_is_lost(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()

    engine.fail_task(claim.id)

    assert engine.fail(claim) == "completed"


def test_finishing_the_holder_releases_its_key(engine: Engine) -> None:
    holder = engine.enqueue(key="k")
    engine.claim_one()
    next_one = engine.enqueue(key="k")
    assert engine.claim() == []

    engine.complete_task(holder)

    assert engine.claim_one().id == next_one


def test_dependent_task_can_run_after_completion(engine: Engine) -> None:
    needed = engine.enqueue(after=60)
    task_id = engine.enqueue(needs=[needed])

    engine.complete_task(needed)

    assert engine.claim_one().id == task_id


def test_dependent_task_fails_with_its_need(engine: Engine) -> None:
    needed = engine.enqueue(after=60)
    task_id = engine.enqueue(needs=[needed])

    engine.fail_task(needed)

    assert engine.task(task_id).state == "failed"


def test_finishing_the_last_child_completes_its_parent(engine: Engine) -> None:
    parent = waiting(engine)
    [child] = [task.id for task in engine.tasks() if task.parent_id == parent]

    engine.complete_task(child)

    assert engine.task(parent).state == "completed"


def tree(engine: Engine) -> tuple[int, Claim, int]:
    """Return a waiting parent, a running child and a pending child."""
    engine.enqueue()
    parent = engine.claim_one()
    engine.complete(parent, next={"children": [{"role": "work"}] * 2})
    child = engine.claim_one()
    [other] = [task.id for task in engine.tasks() if task.parent_id == parent.id and task.id != child.id]
    return parent.id, child, other


def test_completing_a_parent_cancels_its_open_children(engine: Engine) -> None:
    parent, child, other = tree(engine)

    engine.complete_task(parent, 1)

    assert (engine.task(parent).state, engine.task(other).state) == ("completed", "cancelled")
    assert engine.renew(child) == {child.id: "cancelled"}
    assert engine.report(child, "cancelled") is None
    check(engine)


def test_failing_a_parent_fails_its_open_children(engine: Engine) -> None:
    parent, child, other = tree(engine)

    engine.fail_task(parent)

    assert engine.task(other).state == "failed"
    assert engine.renew(child) == {child.id: "cancelled"}


def test_parent_and_child_can_be_finished_in_one_batch(engine: Engine) -> None:
    parent, child, other = tree(engine)

    ended = engine.end({"id": parent, "state": "completed"}, {"id": other, "state": "failed"})

    assert ended == [(parent, "completed"), (other, "failed")]
    assert engine.task(other).state == "failed"
    assert engine.finish(child.worker_id, report(child, "cancelled")) == {}


def test_rollback_restores_the_task_and_its_claim(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()
    engine.rows("begin")
    engine.complete_task(claim.id)
    engine.rows("rollback")

    assert engine.complete(claim) is None


def test_wrong_isolation_level_is_rejected(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.rows("begin isolation level repeatable read")

    with pytest.raises(psycopg.Error) as refusal:
        engine.complete_task(task_id)

    assert refusal.value.sqlstate == "RC050"
    engine.rows("rollback")
