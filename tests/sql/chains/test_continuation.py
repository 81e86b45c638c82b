"""A chain continues with one task at a time, in the transaction that completes the previous one."""

from __future__ import annotations

import pytest

from tests.sql.engine import LEASE, Engine, report
from tests.sql.families import WORK, family, finish_off, parent_of
from tests.sql.refusals import refused


def links(engine: Engine, chain_id: int) -> list[tuple[int, str]]:
    """Return the index and state of a chain's tasks, in order."""
    return engine.rows(
        "select chain_index, state::text from rolecall.all_tasks where chain_id = %s order by 1", chain_id
    )


def test_continuation_is_the_next_task_of_its_chain(engine: Engine) -> None:
    chain = engine.enqueue()
    for _ in range(2):
        engine.complete(engine.claim_one(), next={"continuation": WORK})

    assert links(engine, chain) == [(0, "completed"), (1, "completed"), (2, "pending")]


def test_continuation_has_no_origin_but_follow_up_has_the_previous_task(engine: Engine) -> None:
    engine.enqueue()
    engine.complete(engine.claim_one(), next={"continuation": WORK, "follow_ups": [WORK]})

    assert [(task.chain_id, task.origin_id) for task in engine.tasks()] == [(1, None), (1, 1), (3, 1)]


def test_chain_has_at_most_one_open_continuation(engine: Engine) -> None:
    chain = engine.enqueue()
    engine.complete(engine.claim_one(), next={"continuation": WORK})

    with refused("23505"):
        engine.rows(
            "insert into rolecall.tasks (chain_id, chain_index, created_at, scheduled_for, line_id, payload) "
            "select chain_id, 2, created_at, scheduled_for, line_id, payload from rolecall.tasks where chain_id = %s",
            chain,
        )


def test_repeated_finish_stores_one_continuation(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()
    for _ in range(2):
        engine.complete(claim, next={"continuation": WORK})

    assert len(engine.tasks()) == 2


def test_continuation_from_a_worker_that_lost_its_claim_is_not_stored(engine: Engine) -> None:
    chain = engine.enqueue()
    zombie = engine.claim_one()
    engine.clock.advance(seconds=LEASE + 1)
    engine.rescue()
    engine.clock.advance(seconds=60)
    engine.complete(engine.claim_one(), next={"continuation": WORK})

    assert engine.complete(zombie, next={"continuation": WORK}) == "completed"
    assert [index for index, _ in links(engine, chain)] == [0, 1]


def test_null_continuation_completes_the_chain(engine: Engine) -> None:
    task_id = engine.enqueue()
    engine.complete(engine.claim_one(), next={"continuation": None})

    assert engine.states() == {task_id: "completed"}
    assert engine.value("select continued from rolecall.finished_tasks") is None


def test_continuation_inherits_the_priority_but_is_scheduled_for_now(engine: Engine) -> None:
    engine.enqueue(priority=5)
    claim = engine.claim_one()
    engine.clock.advance(seconds=60)
    engine.complete(claim, next={"continuation": WORK})
    [_, link] = engine.tasks()

    assert (link.priority, link.scheduled_for) == (5, engine.clock.now())


def test_continuation_can_be_due_later(engine: Engine) -> None:
    engine.enqueue()
    engine.complete(engine.claim_one(), next={"continuation": {**WORK, "after": 60}})

    assert engine.claim(1) == []


@pytest.mark.parametrize("outcome", ["failed", "snoozed", "cancelled"])
def test_only_a_completed_task_continues_its_chain(engine: Engine, outcome: str) -> None:
    engine.enqueue()
    engine.report(engine.claim_one(), outcome, next={"continuation": WORK})

    assert len(engine.tasks()) == 1


def test_one_finish_call_continues_several_chains(engine: Engine) -> None:
    chains, _ = engine.enqueue_many([WORK] * 3)
    worker = engine.worker()
    claims = engine.claim(3, worker=worker)
    engine.finish(worker, *(report(claim, "completed", next={"continuation": WORK}) for claim in claims))

    assert [links(engine, chain) for chain in chains] == [[(0, "completed"), (1, "pending")]] * 3


def test_parent_waits_for_the_whole_chain_of_its_child(engine: Engine) -> None:
    """A continuation has the parent of its chain."""
    parent_id, _ = family(engine, 1)
    for _ in range(3):
        engine.complete(engine.claim_one(), next={"continuation": WORK})
    waits = (engine.state(parent_id), engine.task(parent_id).open_children)
    engine.complete(engine.claim_one())

    assert waits == ("waiting", 1)
    assert engine.state(parent_id) == "completed"


def test_failure_rule_of_the_child_applies_to_its_whole_chain(engine: Engine) -> None:
    for rule, expected in (("ignore", "completed"), ("fail_parent", "failed")):
        parent_id, _ = family(engine, 1, on_failure=rule)
        engine.complete(engine.claim_one(), next={"continuation": WORK})
        engine.fail(engine.claim_one(), final=True)

        assert engine.state(parent_id) == expected, rule


def test_gather_step_can_continue_the_chain(engine: Engine) -> None:
    parent_id, _ = parent_of(engine, WORK, gathers=True)
    engine.complete(engine.claim_one())
    engine.complete(engine.claim_one(), next={"continuation": WORK})
    finish_off(engine)

    assert links(engine, parent_id) == [(0, "completed"), (1, "completed")]


def test_chain_continues_after_retry_of_its_failed_last_task(engine: Engine) -> None:
    chain = engine.enqueue()
    engine.complete(engine.claim_one(), next={"continuation": WORK})
    last = engine.claim_one()
    engine.fail(last, final=True)
    engine.retry(last.id)
    engine.complete(engine.claim_one(), next={"continuation": WORK})

    assert links(engine, chain) == [(0, "completed"), (1, "completed"), (2, "pending")]


def test_chain_completes_if_its_continuation_is_a_duplicate(engine: Engine) -> None:
    """Tasks that wait for the chain are notified."""
    twin = engine.enqueue(after=600, dedupe_key="d")
    parent_id, (child,) = family(engine, 1)
    dependent = engine.enqueue(needs=[{"chain": child}])
    engine.complete(engine.claim_one(), next={"continuation": {**WORK, "dedupe_key": "d"}})

    assert (engine.state(parent_id), engine.state(dependent)) == ("completed", "pending")
    assert engine.task(twin).chain_id == twin
    assert engine.value("select continued from rolecall.finished_tasks where id = %s", child) is None


def test_continuation_can_have_the_dedupe_key_of_the_previous_task(engine: Engine) -> None:
    chain = engine.enqueue(dedupe_key="d")
    engine.complete(engine.claim_one(), next={"continuation": {**WORK, "dedupe_key": "d"}})

    assert links(engine, chain) == [(0, "completed"), (1, "pending")]


def test_continuation_with_a_failed_need_fails_the_chain(engine: Engine) -> None:
    engine.enqueue(after=600)
    engine.cancel(1)
    parent_id, (child,) = family(engine, 1)
    dependent = engine.enqueue(needs=[{"chain": child, "on_failure": "ignore"}])
    engine.complete(engine.claim_one(), next={"continuation": {**WORK, "needs": [1]}})

    assert links(engine, child) == [(0, "completed"), (1, "failed")]
    assert (engine.state(parent_id), engine.state(dependent)) == ("failed", "pending")


def test_cancel_requested_chain_is_not_continued(engine: Engine) -> None:
    chain = engine.enqueue()
    claim = engine.claim_one()
    engine.cancel(chain)
    engine.complete(claim, next={"continuation": WORK})

    assert engine.states() == {chain: "cancelled"}
