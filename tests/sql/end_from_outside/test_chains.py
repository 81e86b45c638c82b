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


def test_a_completion_may_continue_the_chain(engine: Engine) -> None:
    chain = engine.enqueue(after=60)

    engine.complete_task(chain, "one", continuation=NEXT)

    claim = engine.claim_one()
    assert (claim.chain_id, claim.chain_index, claim.payload) == (chain, 1, {"step": 2})


def test_follow_ups_start_chains_of_their_own(engine: Engine) -> None:
    task_id = engine.enqueue(after=60)

    engine.complete_task(task_id, follow_ups=[NEXT, NEXT])

    followers = [task for task in engine.tasks() if task.origin_id == task_id]
    assert [(task.chain_id == task.id, task.chain_index) for task in followers] == [(True, 0)] * 2


def test_a_child_may_be_given_siblings_by_its_end(engine: Engine) -> None:
    engine.enqueue()
    parent = engine.claim_one()
    engine.complete(parent, next={"children": [{"role": "work", "after": 60}]})
    [child] = [task.id for task in engine.tasks() if task.parent_id == parent.id]

    engine.complete_task(child, siblings=[NEXT])

    assert engine.task(parent.id).open_children == 1
    engine.complete(engine.claim_one())
    assert engine.task(parent.id).state == "completed"


def test_what_is_null_does_not_come_next(engine: Engine) -> None:
    chain = engine.enqueue()

    engine.complete_task(chain, continuation=None, follow_ups=None, children=None)

    assert [task.state for task in engine.tasks()] == ["completed"]
    assert not engine.value("select continued from rolecall.finished_tasks")


def test_a_bad_next_task_leaves_all_as_it_was(engine: Engine) -> None:
    chain = engine.enqueue()

    with pytest.raises(psycopg.Error) as refusal:
        engine.complete_task(chain, continuation={"role": "unknown"})

    assert refusal.value.sqlstate == "RC031"
    assert [task.state for task in engine.tasks()] == ["pending"]


def test_who_needs_the_chain_waits_for_its_continuation(engine: Engine) -> None:
    chain = engine.enqueue(after=60)
    dependent = engine.enqueue(needs=[{"chain": chain}])
    engine.complete_task(chain, continuation={"role": "work", "after": 60})
    assert engine.task(dependent).state == "blocked"

    assert complete_chain(engine, chain, "end") == "completed"

    assert engine.task(dependent).state == "pending"


def complete_chain(engine: Engine, chain: int, result: object = None) -> str:
    outcome: str = engine.value("select rolecall.complete_chain(%s, to_jsonb(%s::text))", chain, result)
    return outcome


def test_completing_a_chain_completes_the_task_with_which_it_stands_open(engine: Engine) -> None:
    chain, second = chain_of_two(engine)

    assert complete_chain(engine, chain, "done") == "completed"

    assert (engine.task(second).state, engine.task(second).result) == ("completed", "done")
    assert complete_chain(engine, chain) == "finished"
    assert complete_chain(engine, 4711) == "missing"


def test_a_held_chain_is_claimed_by_nobody_and_may_go_several_steps(engine: Engine, session: Session) -> None:
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


def test_holding_a_chain_and_doing_nothing_changes_nothing(engine: Engine) -> None:
    chain = engine.enqueue()
    engine.rows("begin")
    assert engine.value("select rolecall.hold_chain(%s)", chain) == chain
    engine.rows("commit")

    assert engine.claim_one().id == chain


def test_a_chain_that_has_ended_has_nothing_to_hold(engine: Engine) -> None:
    chain = engine.enqueue()
    engine.complete_task(chain)

    assert engine.value("select rolecall.hold_chain(%s)", chain) is None


def test_a_chain_that_never_was_cannot_be_held(engine: Engine) -> None:
    with pytest.raises(psycopg.Error) as refusal:
        engine.rows("select rolecall.hold_chain(4711)")

    assert refusal.value.sqlstate == "RC006"
