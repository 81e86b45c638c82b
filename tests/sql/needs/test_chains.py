"""Needs on whole chains: they are met by the end of the chain."""

from __future__ import annotations

from tests.sql.engine import Engine
from tests.sql.families import WORK, finish_off, parent_of
from tests.sql.refusals import refused


def go_on(engine: Engine) -> int:
    """Continue the chain of the next claim; return the id of its next task."""
    engine.complete(engine.claim_one(), next={"continuation": WORK})
    task_id: int = engine.value("select max(id) from rolecall.tasks where chain_index > 0")
    return task_id


def test_task_waits_for_the_end_of_a_chain(engine: Engine) -> None:
    chain = engine.enqueue()
    task_id = engine.enqueue(needs=[{"chain": chain}])
    states = []
    for _ in range(3):
        go_on(engine)
        states.append(engine.state(task_id))
    engine.complete(engine.claim_one())

    assert states == ["blocked"] * 3
    assert engine.state(task_id) == "pending"


def test_need_on_the_first_task_of_a_chain_refers_to_that_task(engine: Engine) -> None:
    chain = engine.enqueue()
    task_id = engine.enqueue(needs=[chain])
    go_on(engine)

    assert engine.state(task_id) == "pending"


def test_need_on_a_continued_chain_waits_for_its_last_task(engine: Engine) -> None:
    """The last task of the chain is locked."""
    chain = engine.enqueue()
    last = go_on(engine)
    task_id = engine.enqueue(needs=[{"chain": chain}])

    assert finish_off(engine) == [last, task_id]


def test_any_task_of_a_chain_identifies_the_chain(engine: Engine) -> None:
    engine.enqueue()
    last = go_on(engine)
    task_id = engine.enqueue(needs=[{"chain": last}])
    going_on = go_on(engine)

    assert engine.state(task_id) == "blocked"
    assert finish_off(engine) == [going_on, task_id]


def test_finished_chain_settles_a_need_immediately_by_its_last_task(engine: Engine) -> None:
    chain = engine.enqueue()
    go_on(engine)
    engine.fail(engine.claim_one(), final=True)

    assert engine.state(engine.enqueue(needs=[{"chain": chain}])) == "failed"
    assert engine.state(engine.enqueue(needs=[{"chain": chain, "on_failure": "ignore"}])) == "pending"


def test_failed_chain_fails_its_dependents(engine: Engine) -> None:
    chain = engine.enqueue()
    task_id = engine.enqueue(needs=[{"chain": chain}])
    go_on(engine)
    engine.fail(engine.claim_one(), final=True)

    assert engine.state(task_id) == "failed"


def test_result_of_a_needed_chain_is_that_of_its_last_task(engine: Engine) -> None:
    chain = engine.enqueue()
    task_id = engine.enqueue(needs=[{"chain": chain, "name": "menu"}])
    engine.complete(engine.claim_one(), result=1, next={"continuation": WORK})
    engine.complete(engine.claim_one(), result=2)

    assert engine.rows("select name, outcome::text, result from rolecall.needs_of(%s)", task_id) == [
        ("menu", "completed", 2)
    ]


def test_needed_chain_waits_for_the_children_of_its_tasks(engine: Engine) -> None:
    chain, (child,) = parent_of(engine, WORK)
    task_id = engine.enqueue(needs=[{"chain": chain}])

    assert finish_off(engine) == [child, task_id]


def test_continuation_that_needs_its_own_chain_is_rejected(engine: Engine) -> None:
    chain = engine.enqueue()

    with refused("RC043", "would wait for itself"):
        engine.complete(engine.claim_one(), next={"continuation": {**WORK, "needs": [{"chain": chain}]}})
    assert engine.states() == {chain: "running"}


def test_continuation_that_needs_a_dependent_of_its_chain_is_rejected(engine: Engine) -> None:
    chain = engine.enqueue()
    task_id = engine.enqueue(needs=[{"chain": chain}])

    with refused("RC043", "would wait for itself"):
        engine.complete(engine.claim_one(), next={"continuation": {**WORK, "needs": [task_id]}})


def test_continuation_can_need_other_tasks(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()
    needed = engine.enqueue(after=60)
    engine.complete(claim, next={"continuation": {**WORK, "needs": [needed]}})

    assert engine.claim(10) == []
    engine.clock.advance(seconds=60)
    assert len(finish_off(engine)) == 2
