"""Calls on the same trees in different order: children are locked before parents, deeper parents first."""

from __future__ import annotations

from tests.sql.engine import Claim, Engine, report
from tests.sql.families import WORK, parent_of, spread
from tests.sql.interleavings.stage import Stage, Step
from tests.sql.interleavings.test_lock_order import behind_a_gate, cancel, finish, hold


def completing(*claims: Claim, outcome: str = "completed") -> Step:
    return finish(claims[0].worker_id, *(report(claim, outcome, final=True, error="x") for claim in claims))


def hold_task(task_id: int) -> Step:
    return hold("select from rolecall.tasks where id = %s for update", task_id)


def two_families(engine: Engine) -> tuple[list[Claim], list[Claim]]:
    """Let two roots wait for two running children each."""
    engine.enqueue_many([WORK, WORK])
    first, second = engine.claim(2, worker=1)
    for root in (first, second):
        spread(engine, root, WORK, WORK)
    claims = engine.claim_all(1).values()
    ours, theirs = ([claim for claim in claims if claim.parent_id == root.id] for root in (first, second))
    return ours, theirs


def branches(engine: Engine) -> tuple[int, Claim, Claim, list[Claim]]:
    """Let a root wait for two running leaves and a branch, and the branch for two running twigs."""
    root = engine.enqueue()
    spread(engine, engine.claim(1, worker=1)[0], WORK, WORK, WORK)
    left, right, branch = engine.claim_all(1).values()
    spread(engine, branch, WORK, WORK)
    return root, left, right, list(engine.claim_all(1).values())


def test_batches_of_children_of_two_roots_do_not_deadlock(stage: Stage) -> None:
    for play in stage.orders(2, 1, 1):
        ours, theirs = two_families(stage.engine)

        failed = behind_a_gate(
            play,
            hold_task(ours[0].parent_id or 0),
            completing(ours[0], theirs[0]),
            completing(theirs[1], ours[1]),
        )

        assert failed == []
        assert set(stage.engine.states().values()) == {"completed"}


def test_batches_of_leaves_of_unequal_depth_do_not_deadlock(stage: Stage) -> None:
    for play in stage.orders(2, 1, 1):
        root, left, right, twigs = branches(stage.engine)

        failed = behind_a_gate(
            play, hold_task(root), completing(left, twigs[0]), completing(right, twigs[1], outcome="failed")
        )

        assert failed == []
        assert stage.engine.state(root) == "failed"


def test_cancelling_a_tree_and_finishing_its_leaves_do_not_deadlock(stage: Stage) -> None:
    for play in stage.orders(2, 1, 1):
        root, left, right, twigs = branches(stage.engine)

        failed = behind_a_gate(play, hold_task(right.id), completing(left, right, *twigs), cancel(root))

        assert failed == []
        assert stage.engine.claim_all() == {}


def test_two_siblings_that_cancel_each_other_do_not_deadlock(stage: Stage) -> None:
    for play in stage.orders(2, 1, 1):
        parent_of(stage.engine, *[{**WORK, "on_failure": "cancel_siblings"}] * 3)
        first, second, third = stage.engine.claim_all().values()

        failed = behind_a_gate(
            play,
            hold_task(second.id),
            completing(third, outcome="failed"),
            completing(first, outcome="failed"),
        )

        assert failed == []
        assert stage.engine.task(second.id).cancel_requested_at is not None


def test_adding_a_serial_sibling_and_finishing_the_last_do_not_deadlock(stage: Stage) -> None:
    for play in stage.orders(2, 1, 1):
        parent_id, _ = parent_of(stage.engine, WORK, serial=True)
        last = stage.engine.claim_one()

        refused = behind_a_gate(
            play, hold_task(parent_id), completing(last), lambda engine: engine.spawn(parent_id, WORK)
        )

        assert [error.sqlstate for error in refused] in ([], ["RC044"])


def test_adding_a_sibling_with_a_need_and_finishing_it_do_not_deadlock(stage: Stage) -> None:
    for play in stage.orders(2, 1, 1):
        parent_id, (needed, _) = parent_of(stage.engine, WORK, WORK)
        claim = stage.engine.claim_all()[needed]

        failed = behind_a_gate(
            play,
            hold_task(parent_id),
            completing(claim),
            lambda engine: engine.spawn(parent_id, {**WORK, "needs": [needed]}),
        )

        assert failed == []


def test_finishing_a_parent_and_its_child_in_different_batches_does_not_deadlock(stage: Stage) -> None:
    """A running parent is reported in one batch with a leaf of another tree."""
    for play in stage.orders(2, 1, 1):
        ours, theirs = two_families(stage.engine)
        running = stage.engine.enqueue()
        [parent] = [claim for claim in stage.engine.claim(1, worker=1) if claim.id == running]
        stage.engine.spawn(running, WORK)
        [child] = stage.engine.claim_all(1).values()

        failed = behind_a_gate(
            play,
            hold_task(ours[0].parent_id or 0),
            completing(parent, ours[0]),
            completing(child, ours[1], theirs[0]),
        )

        assert failed == []
        assert stage.engine.state(running) == "completed"
