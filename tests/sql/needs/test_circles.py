"""Circular needs are rejected."""

from __future__ import annotations

import pytest

from tests.sql.engine import Engine
from tests.sql.families import WORK, parent_of, spread
from tests.sql.refusals import refused


def assert_circle(engine: Engine, claim_id: int, *needs: object) -> None:
    claim = engine.claim_all()[claim_id]
    before = engine.states()

    with refused("RC043", "would wait for itself"):
        engine.block(claim, *needs)
    assert engine.states() == before


def test_task_cannot_need_itself(engine: Engine) -> None:
    task_id = engine.enqueue()

    with refused("RC043"):
        engine.block(engine.claim_one(), task_id)


def test_task_cannot_need_its_own_chain(engine: Engine) -> None:
    task_id = engine.enqueue()

    assert_circle(engine, task_id, {"chain": task_id})


@pytest.mark.parametrize("length", [1, 2, 10])
def test_task_cannot_need_a_task_that_needs_it(engine: Engine, length: int) -> None:
    first = engine.enqueue()
    last = first
    for _ in range(length):
        last = engine.enqueue(needs=[last])

    assert_circle(engine, first, last)


def test_child_cannot_need_its_parent(engine: Engine) -> None:
    parent_id, (child,) = parent_of(engine, WORK)

    assert_circle(engine, child, parent_id)


def test_grandchild_cannot_need_a_task_that_needs_its_root(engine: Engine) -> None:
    root = engine.enqueue()
    dependent = engine.enqueue(needs=[root])
    spread(engine, engine.claim_one(), WORK)
    [leaf] = spread(engine, engine.claim_one(), WORK)

    assert_circle(engine, leaf, dependent)


def test_child_cannot_need_the_chain_of_its_parent(engine: Engine) -> None:
    parent_id, (child,) = parent_of(engine, WORK)

    assert_circle(engine, child, {"chain": parent_id})


@pytest.mark.parametrize("way", ["report", "siblings", "outside"])
def test_new_child_that_needs_a_dependent_of_its_root_is_rejected(engine: Engine, way: str) -> None:
    root = engine.enqueue()
    dependent = engine.enqueue(needs=[root])
    claim = engine.claim_one()
    if way != "report":
        spread(engine, claim, WORK, WORK)
        claim = engine.claim_one()
    draft = {**WORK, "needs": [dependent]}

    with refused("RC043"):
        if way == "outside":
            engine.spawn(root, draft)
        else:
            engine.complete(claim, next={"children" if way == "report" else "siblings": [draft]})


def test_child_can_need_its_siblings(engine: Engine) -> None:
    _, children = parent_of(engine, WORK, {**WORK, "needs": [{"item": 0}]})
    engine.complete(engine.claim_one())

    assert engine.claim_one().id == children[1]


def test_parent_can_need_the_same_task_as_its_children(engine: Engine) -> None:
    root = engine.enqueue()
    needed = engine.enqueue(after=60)
    claim = engine.claim_one()
    engine.spawn(root, {**WORK, "needs": [needed]})

    assert engine.block(claim, needed) is None


def test_finished_task_causes_no_circle(engine: Engine) -> None:
    needed = engine.enqueue()
    task_id = engine.enqueue(needs=[needed])
    engine.complete(engine.claim_one())
    claim = engine.claim_one()

    assert engine.block(claim, needed) is None
    assert engine.claim_one().id == task_id
