"""Trees of any depth: a parent finishes after all its descendants."""

from __future__ import annotations

import pytest

from tests.sql.engine import Engine
from tests.sql.families import WORK, finish_off, spread


@pytest.mark.parametrize("depth", [2, 3, 30])
def test_finishing_the_deepest_leaf_finishes_all_ancestors_in_one_call(engine: Engine, depth: int) -> None:
    engine.enqueue()
    for _ in range(depth):
        spread(engine, engine.claim_one(), WORK)
    leaf = engine.claim_one()
    waiting = [task for task in engine.tasks() if task.state == "waiting"]

    engine.complete(leaf)

    assert len(waiting) == depth
    assert {task.state for task in engine.tasks()} == {"completed"}


def test_children_have_their_depth_stored(engine: Engine) -> None:
    engine.enqueue()
    spread(engine, engine.claim_one(), WORK)
    spread(engine, engine.claim_one(), WORK)

    assert [task.depth for task in engine.tasks()] == [0, 1, 2]


def test_root_waits_for_the_slowest_branch(engine: Engine) -> None:
    root = engine.enqueue()
    left, right = spread(engine, engine.claim_one(), WORK, WORK)
    claims = engine.claim_all()
    [leaf] = spread(engine, claims[left], WORK)
    engine.complete(claims[right])

    assert finish_off(engine, leaf) == []
    assert (engine.state(left), engine.state(right), engine.state(root)) == ("waiting", "completed", "waiting")


def test_finishing_leaves_of_different_depth_in_one_call_finishes_the_root(engine: Engine) -> None:
    root = engine.enqueue()
    shallow, deep = spread(engine, engine.claim_one(), WORK, WORK)
    claims = engine.claim_all()
    spread(engine, claims[deep], WORK)
    [leaf] = engine.claim_all(claims[shallow].worker_id).values()

    engine.finish(
        leaf.worker_id, *({"id": c.id, "fence": c.fence, "outcome": "completed"} for c in (claims[shallow], leaf))
    )

    assert engine.state(root) == "completed"
