"""Whole chains are deleted with their trees, unless a remaining task needs them."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.engine import Engine
from tests.sql.invariants import check


def known(engine: Engine) -> list[int]:
    return [task.id for task in engine.tasks()]


def refusal_of(engine: Engine, *ids: int, cascade: bool = False) -> str:
    before = known(engine)
    with pytest.raises(psycopg.Error) as refusal:
        engine.delete_chains(*ids, cascade=cascade)
    assert refusal.value.sqlstate == "RC005"
    assert known(engine) == before
    return str(refusal.value.diag.message_primary)


def test_deleting_a_chain_deletes_its_tasks_needs_tokens_and_events(engine: Engine) -> None:
    other = engine.enqueue(after=60)
    chain = engine.enqueue(needs=[other])
    engine.complete_task(chain, continuation={"role": "work", "after": 60})
    engine.rows("select rolecall.issue_token(id) from rolecall.tasks where chain_index = 1")
    engine.rows("select rolecall.trigger(array(select id from rolecall.tasks where chain_index = 1))")

    assert engine.delete_chains(chain) == {chain: 2}

    assert known(engine) == [other]
    for table in ("needs", "task_tokens", "task_events"):
        assert engine.value(f"select count(*) from rolecall.{table}") == 0, table


def test_ids_that_are_not_chains_are_skipped(engine: Engine) -> None:
    chain = engine.enqueue()
    engine.complete_task(chain, continuation={"role": "work"})
    [second] = [task.id for task in engine.tasks() if task.chain_index == 1]

    assert engine.delete_chains(second, 4711) == {}
    assert engine.delete_chains(4711, chain, chain) == {chain: 2}


def test_tree_below_a_chain_is_deleted(engine: Engine) -> None:
    engine.enqueue()
    root = engine.claim_one()
    engine.complete(root, next={"children": [{"role": "work"}] * 2})
    child = engine.claim_one()
    engine.complete(child, next={"children": [{"role": "work"}]})

    assert sorted(engine.delete_chains(root.id).values()) == [1, 1, 1, 1]
    assert known(engine) == []


def test_chain_needed_by_an_open_task_is_not_deleted(engine: Engine) -> None:
    """The error names the chain and the dependent task."""
    chain = engine.enqueue()
    dependent = engine.enqueue(needs=[{"chain": chain}])

    assert refusal_of(engine, chain) == f"chain {chain} is needed by task {dependent}, which is open and would remain"


def test_result_that_an_open_task_will_read_is_not_deleted(engine: Engine) -> None:
    """The handler of the dependent task reads the results of its needs."""
    chain = engine.enqueue(after=60)
    dependent = engine.enqueue(needs=[chain])
    engine.complete_task(chain, "read me")

    assert str(dependent) in refusal_of(engine, chain)


def test_chains_that_need_each_other_are_deleted_together(engine: Engine) -> None:
    chain = engine.enqueue()
    dependent = engine.enqueue(needs=[chain])

    assert engine.delete_chains(chain, dependent) == {chain: 1, dependent: 1}


def test_chain_needed_only_by_a_finished_task_can_be_deleted(engine: Engine) -> None:
    chain = engine.enqueue(after=60)
    dependent = engine.enqueue(needs=[chain])
    engine.complete_task(chain)
    engine.complete_task(dependent)

    assert engine.delete_chains(chain) == {chain: 1}


def test_child_of_a_waiting_parent_is_not_deleted_alone(engine: Engine) -> None:
    engine.enqueue()
    parent = engine.claim_one()
    engine.complete(parent, next={"children": [{"role": "work"}] * 2})
    child = engine.claim_one()
    engine.complete(child, result="gathered later")

    assert (
        refusal_of(engine, child.id)
        == f"chain {child.id} is needed by task {parent.id}, which is open and would remain"
    )


def test_cascade_deletes_needed_chains_recursively(engine: Engine) -> None:
    deepest = engine.enqueue(after=60)
    deep = engine.enqueue(needs=[deepest])
    chain = engine.enqueue(needs=[{"chain": deep}])
    bystander = engine.enqueue()

    assert engine.delete_chains(chain, cascade=True) == {deepest: 1, deep: 1, chain: 1}
    assert known(engine) == [bystander]


def test_needed_chain_is_kept_without_cascade(engine: Engine) -> None:
    needed = engine.enqueue()
    chain = engine.enqueue(needs=[needed])

    assert engine.delete_chains(chain) == {chain: 1}
    assert known(engine) == [needed]


def test_cascade_is_rejected_for_a_chain_that_other_tasks_need(engine: Engine) -> None:
    shared = engine.enqueue(after=60)
    chain = engine.enqueue(needs=[shared])
    other = engine.enqueue(needs=[shared])

    message = refusal_of(engine, chain, cascade=True)

    assert message == f"chain {shared} is needed by task {other}, which is open and would remain"


def test_worker_of_a_deleted_running_task_is_notified(engine: Engine) -> None:
    engine.enqueue()
    claim = engine.claim_one()
    engine.rows("listen rolecall_cancel")

    engine.delete_chains(claim.id)

    [notice] = engine.connection.notifies(timeout=30, stop_after=1)
    assert notice.payload == str(claim.worker_id)
    assert engine.renew(claim) == {claim.id: "deleted"}
    assert engine.complete(claim) == "deleted"


def test_deleting_the_holder_releases_its_key(engine: Engine) -> None:
    holder = engine.enqueue(key="k")
    engine.claim_one()
    next_one = engine.enqueue(key="k")
    assert engine.claim() == []

    engine.delete_chains(holder)

    assert engine.claim_one().id == next_one
    check(engine)


def test_deleting_a_chain_frees_its_dedupe_key(engine: Engine) -> None:
    chain = engine.enqueue(dedupe_key="once")
    engine.delete_chains(chain)

    assert engine.enqueue(dedupe_key="once") != chain


def test_wrong_isolation_level_is_rejected(engine: Engine) -> None:
    chain = engine.enqueue()
    engine.rows("begin isolation level repeatable read")

    with pytest.raises(psycopg.Error) as refusal:
        engine.delete_chains(chain)

    assert refusal.value.sqlstate == "RC050"
    engine.rows("rollback")
