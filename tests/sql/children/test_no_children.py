"""Empty structures: a first step without children, and empty lists of any kind."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sql.engine import Document, Engine
from tests.sql.families import WORK
from tests.sql.refusals import refused

NO_CHILDREN: list[Document] = [{}, {"children": None}, {"children": []}, {"children": [], "serial": True}]


@pytest.mark.parametrize("none", NO_CHILDREN, ids=str)
def test_first_step_without_children_continues_with_its_gather_step(engine: Engine, none: Document) -> None:
    task_id = engine.enqueue()
    engine.complete(engine.claim_one(), result="first", next={"gathers": True, **none})

    gather = engine.claim_one()
    assert (gather.id, gather.step, gather.attempt) == (task_id, 1, 1)
    assert engine.rows("select from rolecall.children_of(%s)", task_id) == []
    engine.complete(gather, result="gathered")
    assert (engine.state(task_id), engine.task(task_id).result) == ("completed", "gathered")


@pytest.mark.parametrize("none", NO_CHILDREN, ids=str)
def test_gather_step_without_children_is_the_last(engine: Engine, none: Document) -> None:
    task_id = engine.enqueue()
    engine.complete(engine.claim_one(), next={"gathers": True})
    engine.complete(engine.claim_one(), next={"gathers": True, **none})

    assert engine.state(task_id) == "completed"


@pytest.mark.parametrize("none", NO_CHILDREN, ids=str)
def test_step_without_children_or_gather_step_completes_and_can_continue_its_chain(
    engine: Engine, none: Document
) -> None:
    task_id = engine.enqueue()
    engine.complete(engine.claim_one(), result=7, next={"continuation": WORK, **none})

    assert (engine.state(task_id), engine.task(task_id).result) == ("completed", 7)
    assert engine.claim_one().chain_id == task_id


def test_gather_step_without_children_keeps_the_key(engine: Engine) -> None:
    holder = engine.enqueue(key="store")
    other = engine.enqueue(key="store")
    engine.complete(engine.claim_one(), next={"gathers": True})

    [gather] = engine.claim(10)
    assert (gather.id, gather.step) == (holder, 1)
    engine.complete(gather)
    assert engine.claim_one().id == other


def test_both_steps_are_listed_as_attempts(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.complete(engine.claim_one(), next={"gathers": True})
    engine.complete(engine.claim_one())

    outcomes = engine.rows("select attempt, outcome from rolecall.attempts(%s)", task_id)
    assert outcomes == [(1, "waiting"), (1, "completed")]


def test_follow_ups_of_the_first_step_are_stored(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.complete(engine.claim_one(), next={"gathers": True, "follow_ups": [WORK]})

    assert [(task.id, task.origin_id) for task in engine.tasks()] == [(task_id, None), (task_id + 1, task_id)]


def test_continuation_of_the_first_step_is_rejected(engine: Engine) -> None:
    engine.enqueue()

    with refused("RC042", "only its last step can continue the chain"):
        engine.complete(engine.claim_one(), next={"gathers": True, "continuation": WORK})


def test_cancelled_first_step_is_not_gathered(engine: Engine) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()
    engine.cancel(task_id)
    engine.complete(claim, next={"gathers": True})

    assert engine.state(task_id) == "cancelled"


def test_dependent_task_waits_for_the_gather_step(engine: Engine) -> None:
    task_id = engine.enqueue()
    dependent = engine.enqueue(needs=[{"task": task_id}])
    engine.complete(engine.claim_one(), next={"gathers": True})

    assert engine.state(dependent) == "blocked"
    engine.complete(engine.claim_one())
    assert engine.claim_one().id == dependent


def test_outcomes_with_and_without_children_are_stored_in_one_call(engine: Engine) -> None:
    ids = [engine.enqueue() for _ in range(3)]
    nexts: list[Any] = [{"gathers": True}, {"gathers": True, "children": [WORK]}, None]
    claims = engine.claim_all()
    reports = [
        {"id": task_id, "fence": claims[task_id].fence, "outcome": "completed", "next": following}
        for task_id, following in zip(ids, nexts, strict=True)
    ]
    engine.finish(claims[ids[0]].worker_id, *reports)

    assert [engine.state(task_id) for task_id in ids] == ["pending", "waiting", "completed"]


def test_empty_lists_in_an_outcome_have_no_effect(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.complete(engine.claim_one(), next={"children": [], "siblings": [], "follow_ups": []})

    assert (engine.state(task_id), len(engine.tasks())) == ("completed", 1)


def test_spawning_no_children_leaves_a_running_task_without_children(engine: Engine) -> None:
    task_id = engine.enqueue()
    claim = engine.claim_one()

    assert engine.spawn(task_id) == []
    engine.complete(claim)
    assert engine.state(task_id) == "completed"


def test_spawning_no_children_leaves_a_waiting_task_waiting(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.complete(engine.claim_one(), next={"children": [WORK]})

    assert engine.spawn(task_id) == []
    assert engine.state(task_id) == "waiting"
    engine.complete(engine.claim_one())
    assert engine.state(task_id) == "completed"


def test_task_with_an_empty_list_of_needs_is_claimed_immediately(engine: Engine) -> None:
    task_id = engine.enqueue(needs=[])

    assert engine.claim_one().id == task_id
