"""A failed or cancelled task cancels its open descendants."""

from __future__ import annotations

import psycopg

from tests.sql.engine import Claim, Engine
from tests.sql.families import WORK, family, spread


def tree(engine: Engine) -> tuple[int, int, int, Claim, int]:
    """Return a root that waits for a branch and a leaf; the branch waits for a running twig and a pending one."""
    root = engine.enqueue()
    branch, leaf = spread(engine, engine.claim_one(), WORK, {**WORK, "after": 60})
    running, pending = spread(engine, engine.claim_one(), WORK, {**WORK, "after": 60})
    claim = engine.claim_one()
    assert claim.id == running
    return root, branch, leaf, claim, pending


def test_cancelling_a_root_cancels_its_tree_and_requests_it_of_running_tasks(engine: Engine) -> None:
    root, branch, leaf, twig, pending = tree(engine)

    assert engine.cancel(root) == {root: "cancelled"}
    assert {engine.state(task_id) for task_id in (root, branch, leaf, pending)} == {"cancelled"}
    assert engine.task(twig.id).cancel_requested_at is not None


def test_cancel_requested_descendant_ends_cancelled(engine: Engine) -> None:
    root, _, _, twig, _ = tree(engine)
    engine.cancel(root)

    assert engine.report(twig, "cancelled") is None
    assert engine.state(twig.id) == "cancelled"


def test_cancel_requested_task_cannot_spawn_or_continue(engine: Engine) -> None:
    """A cancellation must end the tree even if handlers have not been notified of it."""
    for key in ("children", "siblings", "continuation"):
        root, _, _, twig, _ = tree(engine)
        engine.cancel(root)
        engine.complete(twig, next={key: WORK if key == "continuation" else [WORK]})

        assert (engine.state(twig.id), engine.claim(10)) == ("cancelled", []), key


def test_task_completed_after_a_cancel_request_is_completed(engine: Engine) -> None:
    root, _, _, twig, _ = tree(engine)
    engine.cancel(root)
    engine.complete(twig)

    assert engine.state(twig.id) == "completed"


def test_cancelling_a_branch_does_not_affect_the_rest_of_the_tree(engine: Engine) -> None:
    root, branch, leaf, _, pending = tree(engine)
    engine.cancel(branch)

    assert [engine.state(task_id) for task_id in (root, branch, leaf, pending)] == [
        "waiting",
        "cancelled",
        "pending",
        "cancelled",
    ]


def test_failing_task_ends_the_children_that_it_spawned_while_running(engine: Engine) -> None:
    root = engine.enqueue()
    claim = engine.claim_one()
    running, waiting, pending = engine.spawn(root, WORK, WORK, {**WORK, "after": 60})
    claims = engine.claim_all()
    [below] = spread(engine, claims[waiting], {**WORK, "after": 60})
    engine.fail(claim, final=True)

    assert {engine.state(task_id) for task_id in (waiting, pending, below)} == {"failed"}
    assert engine.task(pending).error == "Parent task failed"
    assert engine.task(running).cancel_requested_at is not None


def test_retried_task_keeps_the_children_that_it_spawned(engine: Engine) -> None:
    root = engine.enqueue()
    claim = engine.claim_one()
    [child] = engine.spawn(root, {**WORK, "after": 600})
    engine.fail(claim, after=0)

    assert (engine.state(child), engine.state(root)) == ("pending", "pending")
    engine.complete(engine.claim_one())
    assert engine.state(root) == "waiting"


def test_blocked_descendants_are_cancelled(engine: Engine) -> None:
    root = engine.enqueue()
    children = spread(engine, engine.claim_one(), WORK, WORK, WORK, serial=True)
    engine.cancel(root)

    assert {engine.state(child) for child in children} == {"cancelled"}


def test_workers_of_running_descendants_are_notified(engine: Engine) -> None:
    root, _, _, twig, _ = tree(engine)
    with psycopg.connect(engine.database, autocommit=True) as listener:
        listener.execute("listen rolecall_cancel")
        engine.cancel(root)
        result = [notice.payload for notice in listener.notifies(timeout=30, stop_after=1)]

    assert result == [str(twig.worker_id)]


def test_cancelling_the_last_child_completes_its_parent(engine: Engine) -> None:
    parent_id, (child,) = family(engine, 1, on_failure="ignore")
    engine.cancel(child)

    assert engine.state(parent_id) == "completed"


def test_cancelling_all_ids_of_a_tree_returns_one_outcome_per_id(engine: Engine) -> None:
    root, branch, leaf, twig, pending = tree(engine)

    assert engine.cancel(pending, root, twig.id, leaf, branch) == {
        root: "cancelled",
        branch: "cancelled",
        leaf: "cancelled",
        pending: "cancelled",
        twig.id: "requested",
    }
