"""Serial children run one after another, whatever the outcome of the previous one."""

from __future__ import annotations

import pytest

from tests.sql.engine import Engine
from tests.sql.families import WORK, finish_off, parent_of, spread
from tests.sql.refusals import refused


def test_serial_children_run_one_after_another_in_order(engine: Engine) -> None:
    parent_id, children = parent_of(engine, WORK, WORK, WORK, serial=True)
    taken = []
    for _ in children:
        [claim] = engine.claim(10)
        taken.append(claim.id)
        engine.complete(claim)

    assert taken == children
    assert engine.state(parent_id) == "completed"


def test_later_serial_children_are_blocked_until_the_first_has_finished(engine: Engine) -> None:
    _, children = parent_of(engine, WORK, WORK, WORK, serial=True)

    assert [engine.state(child) for child in children] == ["pending", "blocked", "blocked"]


def test_serial_children_continue_after_a_failed_one(engine: Engine) -> None:
    """The parent fails after all have finished."""
    parent_id, (first, second) = parent_of(engine, WORK, WORK, serial=True)
    engine.fail(engine.claim_one(), final=True)
    states = (engine.state(first), engine.state(second), engine.state(parent_id))
    engine.complete(engine.claim_one())

    assert states == ("failed", "pending", "waiting")
    assert engine.state(parent_id) == "failed"


def test_serial_children_continue_after_a_cancelled_one(engine: Engine) -> None:
    _, (first, second) = parent_of(engine, WORK, WORK, serial=True)
    engine.cancel(first)

    assert engine.claim_one().id == second


def test_serial_child_can_cancel_those_after_it(engine: Engine) -> None:
    parent_id, (_, second) = parent_of(engine, {**WORK, "on_failure": "cancel_siblings"}, WORK, serial=True)
    engine.fail(engine.claim_one(), final=True)

    assert (engine.state(second), engine.state(parent_id)) == ("cancelled", "failed")


def test_retried_serial_child_keeps_later_ones_blocked(engine: Engine) -> None:
    _, (first, second) = parent_of(engine, WORK, WORK, serial=True)
    engine.fail(engine.claim_one(), after=0)

    assert engine.claim_one().id == first
    assert engine.state(second) == "blocked"


def test_children_spawned_later_run_after_the_last_serial_child(engine: Engine) -> None:
    parent_id, children = parent_of(engine, WORK, WORK, serial=True)
    added = engine.spawn(parent_id, WORK, WORK)

    assert finish_off(engine) == [*children, *added]


def test_siblings_of_a_serial_child_are_appended(engine: Engine) -> None:
    parent_id, children = parent_of(engine, WORK, WORK, serial=True)
    engine.complete(engine.claim_one(), next={"siblings": [WORK, WORK]})

    assert finish_off(engine) == [children[1], *(child.id for child in engine.children(parent_id)[2:])]


def test_serial_child_waits_for_the_whole_subtree_of_the_previous_one(engine: Engine) -> None:
    _, (first, second) = parent_of(engine, WORK, WORK, serial=True)
    [leaf] = spread(engine, engine.claim_one(), WORK)

    assert finish_off(engine, leaf) == []
    assert (engine.state(first), engine.state(second)) == ("waiting", "blocked")


def test_serial_child_can_need_other_tasks(engine: Engine) -> None:
    needed = engine.enqueue(after=600)
    _, children = parent_of(engine, WORK, {**WORK, "needs": [needed]}, serial=True)
    engine.complete(engine.claim_one())

    assert engine.state(children[1]) == "blocked"
    engine.clock.advance(seconds=600)
    assert finish_off(engine) == [needed, children[1]]


def test_serial_children_are_claimed_before_younger_roots(engine: Engine) -> None:
    _, children = parent_of(engine, WORK, WORK, serial=True)
    engine.clock.advance(seconds=60)
    engine.enqueue()
    engine.complete(engine.claim_one())

    assert engine.claim_one().id == children[1]


@pytest.mark.parametrize("first", [True, False])
def test_mixing_open_serial_and_concurrent_children_is_rejected(engine: Engine, first: bool) -> None:
    parent_id, _ = parent_of(engine, WORK, serial=first)

    with refused("RC044", "are serial" if first else "are concurrent"):
        engine.spawn(parent_id, WORK, serial=not first)


def test_existing_task_takes_the_place_of_a_duplicate_serial_child(engine: Engine) -> None:
    twin = engine.enqueue(dedupe_key="d", after=600)
    _, children = parent_of(engine, WORK, {**WORK, "dedupe_key": "d"}, WORK, serial=True)
    engine.complete(engine.claim_one())

    assert engine.state(children[1]) == "blocked"
    engine.clock.advance(seconds=600)
    assert finish_off(engine) == [twin, children[1]]
