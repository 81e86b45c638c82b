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


def test_cancelling_a_root_cancels_what_is_open_below_and_asks_what_runs(engine: Engine) -> None:
    root, branch, leaf, twig, pending = tree(engine)

    assert engine.cancel(root) == {root: "cancelled"}
    assert {engine.state(task_id) for task_id in (root, branch, leaf, pending)} == {"cancelled"}
    assert engine.task(twig.id).cancel_requested_at is not None


def test_what_was_asked_to_stop_ends_without_its_tree(engine: Engine) -> None:
    root, _, _, twig, _ = tree(engine)
    engine.cancel(root)

    assert engine.report(twig, "cancelled") is None
    assert engine.state(twig.id) == "cancelled"


def test_what_was_asked_to_stop_spawns_nothing_more(engine: Engine) -> None:
    """A cancellation must end the tree even if handlers have not been notified of it."""
    for key in ("children", "siblings", "continuation"):
        root, _, _, twig, _ = tree(engine)
        engine.cancel(root)
        engine.complete(twig, next={key: WORK if key == "continuation" else [WORK]})

        assert (engine.state(twig.id), engine.claim(10)) == ("cancelled", []), key


def test_a_completion_that_comes_after_the_request_stands(engine: Engine) -> None:
    root, _, _, twig, _ = tree(engine)
    engine.cancel(root)
    engine.complete(twig)

    assert engine.state(twig.id) == "completed"


def test_cancelling_a_branch_leaves_the_rest(engine: Engine) -> None:
    root, branch, leaf, _, pending = tree(engine)
    engine.cancel(branch)

    assert [engine.state(task_id) for task_id in (root, branch, leaf, pending)] == [
        "waiting",
        "cancelled",
        "pending",
        "cancelled",
    ]


def test_a_task_that_fails_takes_what_it_spawned_before(engine: Engine) -> None:
    root = engine.enqueue()
    claim = engine.claim_one()
    running, waiting, pending = engine.spawn(root, WORK, WORK, {**WORK, "after": 60})
    claims = engine.claim_all()
    [below] = spread(engine, claims[waiting], {**WORK, "after": 60})
    engine.fail(claim, final=True)

    assert {engine.state(task_id) for task_id in (waiting, pending, below)} == {"failed"}
    assert engine.task(pending).error == "Parent task failed"
    assert engine.task(running).cancel_requested_at is not None


def test_a_task_that_is_tried_again_keeps_what_it_spawned(engine: Engine) -> None:
    root = engine.enqueue()
    claim = engine.claim_one()
    [child] = engine.spawn(root, {**WORK, "after": 600})
    engine.fail(claim, after=0)

    assert (engine.state(child), engine.state(root)) == ("pending", "pending")
    engine.complete(engine.claim_one())
    assert engine.state(root) == "waiting"


def test_blocked_descendants_end_too(engine: Engine) -> None:
    root = engine.enqueue()
    children = spread(engine, engine.claim_one(), WORK, WORK, WORK, serial=True)
    engine.cancel(root)

    assert {engine.state(child) for child in children} == {"cancelled"}


def test_workers_of_descendants_are_told(engine: Engine) -> None:
    root, _, _, twig, _ = tree(engine)
    with psycopg.connect(engine.database, autocommit=True) as listener:
        listener.execute("listen rolecall_cancel")
        engine.cancel(root)
        told = [notice.payload for notice in listener.notifies(timeout=30, stop_after=1)]

    assert told == [str(twig.worker_id)]


def test_cancelling_a_child_frees_its_parent(engine: Engine) -> None:
    parent_id, (child,) = family(engine, 1, on_failure="ignore")
    engine.cancel(child)

    assert engine.state(parent_id) == "completed"


def test_cancelling_a_whole_tree_by_all_its_ids_is_one_end_for_each(engine: Engine) -> None:
    root, branch, leaf, twig, pending = tree(engine)

    assert engine.cancel(pending, root, twig.id, leaf, branch) == {
        root: "cancelled",
        branch: "cancelled",
        leaf: "cancelled",
        pending: "cancelled",
        twig.id: "requested",
    }
