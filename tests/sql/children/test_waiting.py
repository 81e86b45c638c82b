"""A parent waits for its children without a slot, and finishes with the last of them."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.engine import Engine, report
from tests.sql.families import WORK, family, finish_off, parent_of, spread
from tests.sql.refusals import refused


def test_parent_waits_for_its_children_without_worker_lease_or_deadline(engine: Engine) -> None:
    parent_id, children = family(engine, 2)
    parent = engine.task(parent_id)

    assert (parent.state, parent.open_children, parent.worker_id, parent.lease_until) == ("waiting", 2, None, None)
    assert [engine.task(child).parent_id for child in children] == [parent_id, parent_id]


def test_waiting_parent_is_never_claimed_or_rescued(engine: Engine) -> None:
    parent_id, children = family(engine, 1)
    [child] = engine.claim(10)
    engine.clock.advance(days=400)

    assert (child.id, engine.claim(10), engine.rescue()) == (children[0], [], {child.id: "pending"})
    assert engine.state(parent_id) == "waiting"


def test_parent_finishes_with_its_last_child_and_not_before(engine: Engine) -> None:
    parent_id, _ = family(engine, 3)
    states = []
    for claim in engine.claim_all().values():
        states.append(engine.state(parent_id))
        engine.complete(claim)

    assert states == ["waiting"] * 3
    assert engine.state(parent_id) == "completed"


def test_children_that_finish_in_one_call_complete_their_parent(engine: Engine) -> None:
    parent_id, _ = family(engine, 5)
    claims = list(engine.claim_all().values())

    engine.finish(claims[0].worker_id, *(report(claim, "completed") for claim in claims))

    assert engine.state(parent_id) == "completed"


def test_result_of_a_parent_is_the_return_value_of_its_handler(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()
    spread(engine, claim, WORK, result={"spawned": 1})
    engine.complete(engine.claim_one(), result={"child": True})

    assert engine.task(claim.id).result == {"spawned": 1}


def test_task_without_children_completes_immediately(engine: Engine) -> None:
    parent_id, _ = parent_of(engine)

    assert engine.state(parent_id) == "completed"


@pytest.mark.parametrize("children", [None, []])
def test_empty_children_have_no_effect(engine: Engine, children: object) -> None:
    task_id = engine.enqueue()

    assert engine.complete(engine.claim_one(), next={"children": children}, result=7) is None
    assert (engine.state(task_id), engine.task(task_id).result) == ("completed", 7)


def test_repeated_finish_of_a_waiting_parent_returns_already_and_spawns_nothing(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()
    spread(engine, claim, WORK)

    assert engine.complete(claim, next={"children": [WORK]}) == "already"
    assert len(engine.tasks()) == 2


def test_children_of_a_lost_claim_are_not_stored(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()
    engine.release(claim)

    assert engine.complete(claim, next={"children": [WORK]}) == "taken"
    assert len(engine.tasks()) == 1


@pytest.mark.parametrize("draft", [{"role": "unknown"}, {"role": "work", "payload": [1]}, {}], ids=str)
def test_invalid_child_rolls_back_the_whole_call(engine: Engine, draft: object) -> None:
    task_id = engine.enqueue()

    with pytest.raises(psycopg.Error, match="^task 1: "):
        engine.complete(engine.claim_one(), next={"children": [WORK, draft]})

    assert engine.states() == {task_id: "running"}


def test_timeline_of_a_parent_contains_its_waiting_event(engine: Engine) -> None:
    parent_id, _ = family(engine, 1)
    finish_off(engine)

    assert engine.events(parent_id) == ["waiting"]


def test_children_and_a_continuation_in_one_outcome_are_rejected(engine: Engine) -> None:
    engine.enqueue()

    with refused("RC042", "only its last step can continue"):
        engine.complete(engine.claim_one(), next={"children": [WORK], "continuation": WORK})


def test_parent_can_have_follow_ups_and_children(engine: Engine) -> None:
    engine.enqueue()
    engine.complete(engine.claim_one(), next={"children": [WORK], "follow_ups": [WORK]})

    assert sorted(str(task.parent_id) for task in engine.tasks()) == ["1", "None", "None"]


def test_one_call_can_finish_children_and_suspend_parents(engine: Engine) -> None:
    """A worker with several slots reports both at once."""
    worker = engine.worker()
    parent_id, _ = family(engine, 1)
    other = engine.enqueue()
    claims = engine.claim_all(worker)

    reports = [report(claim, "completed", next={"children": [WORK]}) for claim in claims.values()]
    engine.finish(worker, *reports)

    assert (engine.state(parent_id), engine.state(other)) == ("waiting", "waiting")
    finish_off(engine)
    assert set(engine.states().values()) == {"completed"}
