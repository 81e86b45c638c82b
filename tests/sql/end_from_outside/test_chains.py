"""Open chains are continued or finished from outside."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.conftest import Session
from tests.sql.engine import Engine

NEXT = {"role": "work", "payload": {"step": 2}}


def chain_of_two(engine: Engine) -> tuple[int, int]:
    """Return a chain whose first task was continued, and its second task, which is pending."""
    engine.enqueue()
    first = engine.claim_one()
    engine.complete(first, next={"continuation": NEXT})
    [second] = [task.id for task in engine.tasks() if task.chain_index == 1]
    return first.id, second


def test_completion_can_continue_the_chain(engine: Engine) -> None:
    chain = engine.enqueue(after=60)

    engine.complete_task(chain, "one", continuation=NEXT)

    claim = engine.claim_one()
    assert (claim.chain_id, claim.chain_index, claim.payload) == (chain, 1, {"step": 2})


def test_follow_ups_start_their_own_chains(engine: Engine) -> None:
    task_id = engine.enqueue(after=60)

    engine.complete_task(task_id, follow_ups=[NEXT, NEXT])

    followers = [task for task in engine.tasks() if task.origin_id == task_id]
    assert [(task.chain_id == task.id, task.chain_index) for task in followers] == [(True, 0)] * 2


def test_completing_a_child_can_spawn_siblings(engine: Engine) -> None:
    engine.enqueue()
    parent = engine.claim_one()
    engine.complete(parent, next={"children": [{"role": "work", "after": 60}]})
    [child] = [task.id for task in engine.tasks() if task.parent_id == parent.id]

    engine.complete_task(child, siblings=[NEXT])

    assert engine.task(parent.id).open_children == 1
    engine.complete(engine.claim_one())
    assert engine.task(parent.id).state == "completed"


def test_null_continuation_and_follow_ups_have_no_effect(engine: Engine) -> None:
    chain = engine.enqueue()

    engine.complete_task(chain, continuation=None, follow_ups=None, children=None)

    assert [task.state for task in engine.tasks()] == ["completed"]
    assert not engine.value("select continued from rolecall.finished_tasks")


def test_invalid_continuation_changes_nothing(engine: Engine) -> None:
    chain = engine.enqueue()

    with pytest.raises(psycopg.Error) as refusal:
        engine.complete_task(chain, continuation={"role": "unknown"})

    assert refusal.value.sqlstate == "RC031"
    assert [task.state for task in engine.tasks()] == ["pending"]


def test_dependent_of_a_chain_waits_for_its_continuation(engine: Engine) -> None:
    chain = engine.enqueue(after=60)
    dependent = engine.enqueue(needs=[{"chain": chain}])
    engine.complete_task(chain, continuation={"role": "work", "after": 60})
    assert engine.task(dependent).state == "blocked"

    assert complete_chain(engine, chain, "end") == "completed"

    assert engine.task(dependent).state == "pending"


def complete_chain(engine: Engine, chain: int, result: object = None) -> str:
    outcome: str = engine.value("select rolecall.complete_chain(%s, to_jsonb(%s::text))", chain, result)
    return outcome


def test_completing_a_chain_completes_its_open_task(engine: Engine) -> None:
    chain, second = chain_of_two(engine)

    assert complete_chain(engine, chain, "done") == "completed"

    assert (engine.task(second).state, engine.task(second).result) == ("completed", "done")
    assert complete_chain(engine, chain) == "finished"
    assert complete_chain(engine, 4711) == "missing"


def test_held_chain_is_not_claimed_and_can_advance_several_steps(engine: Engine, session: Session) -> None:
    chain = engine.enqueue()
    other = session()
    engine.rows("begin")
    held = engine.value("select rolecall.hold_chain(%s)", chain)
    assert other.claim() == []
    engine.complete_task(held, 1, continuation=NEXT)
    second = engine.value("select rolecall.hold_chain(%s)", chain)
    engine.complete_task(second, 2, continuation=NEXT)
    engine.rows("commit")

    assert [task.state for task in engine.tasks()] == ["completed", "completed", "pending"]
    assert engine.claim_one().chain_index == 2


def test_holding_a_chain_without_changes_has_no_effect(engine: Engine) -> None:
    chain = engine.enqueue()
    engine.rows("begin")
    assert engine.value("select rolecall.hold_chain(%s)", chain) == chain
    engine.rows("commit")

    assert engine.claim_one().id == chain


def test_finished_chain_has_no_task_to_hold(engine: Engine) -> None:
    chain = engine.enqueue()
    engine.complete_task(chain)

    assert engine.value("select rolecall.hold_chain(%s)", chain) is None


def test_holding_a_missing_chain_is_rejected(engine: Engine) -> None:
    with pytest.raises(psycopg.Error) as refusal:
        engine.rows("select rolecall.hold_chain(4711)")

    assert refusal.value.sqlstate == "RC006"
