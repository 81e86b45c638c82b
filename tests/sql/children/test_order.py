"""Depth first: started trees finish before younger ones start."""

from __future__ import annotations

import pytest

from tests.sql.engine import Engine
from tests.sql.families import WORK, spread


def next_ids(engine: Engine, number: int) -> list[int]:
    return [claim.id for claim in engine.claim(number)]


def test_children_of_an_older_root_are_claimed_before_younger_roots(engine: Engine) -> None:
    engine.enqueue()
    engine.clock.advance(seconds=1)
    younger = engine.enqueue()
    children = spread(engine, engine.claim_one(), WORK, WORK)

    assert next_ids(engine, 3) == [*children, younger]


def test_children_are_claimed_before_roots_of_the_same_batch(engine: Engine) -> None:
    """Roots stored at the same time are ordered by id, and children have higher ids."""
    _, younger = engine.enqueue_many([WORK, WORK])[0]
    children = spread(engine, engine.claim_one(), WORK, WORK)

    assert next_ids(engine, 3) == [*children, younger]


def test_grandchildren_are_claimed_before_the_remaining_children(engine: Engine) -> None:
    """Children of the deepest parent come first."""
    engine.enqueue()
    first, second = spread(engine, engine.claim_one(), WORK, WORK)
    claim = engine.claim_one()
    grandchildren = spread(engine, claim, WORK, WORK)

    assert claim.id == first
    assert next_ids(engine, 3) == [*grandchildren, second]


def test_children_inherit_the_priority_of_their_root(engine: Engine) -> None:
    engine.enqueue(priority=7)
    spread(engine, engine.claim_one(), WORK)
    spread(engine, engine.claim_one(), WORK)

    assert [task.priority for task in engine.tasks()] == [7, 7, 7]


def test_child_can_have_its_own_priority(engine: Engine) -> None:
    engine.enqueue(priority=7)
    [child] = spread(engine, engine.claim_one(), {**WORK, "priority": 1})

    assert engine.task(child).priority == 1


@pytest.mark.parametrize("when", [{"after": 60}, {"scheduled_for": "2026-01-01T00:01:00Z"}], ids=str)
def test_child_can_be_due_later(engine: Engine, when: dict[str, object]) -> None:
    engine.enqueue()
    [child] = spread(engine, engine.claim_one(), {**WORK, **when})

    assert engine.claim(1) == []
    engine.clock.advance(seconds=60)
    assert engine.claim_one().id == child


def test_child_of_another_role_joins_the_line_of_that_role(engine: Engine) -> None:
    engine.declare({"name": "other"})
    engine.enqueue()
    [child] = spread(engine, engine.claim_one(), {"role": "other"})

    assert engine.claim(1, "work") == []
    assert engine.claim_one("other").id == child


def test_concurrent_children_are_claimed_together_and_serial_ones_singly(engine: Engine) -> None:
    """Children of the deepest parent come first."""
    engine.enqueue()
    [elder, younger] = spread(engine, engine.claim_one(), WORK, WORK, serial=True)
    claim = engine.claim_one()
    leaves = spread(engine, claim, WORK, WORK, WORK)
    taken = engine.claim(10)
    for leaf in taken:
        engine.complete(leaf)

    assert claim.id == elder
    assert [leaf.id for leaf in taken] == leaves
    assert next_ids(engine, 10) == [younger]
