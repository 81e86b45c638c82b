"""A task keeps its enqueuer's trace, and a tracing worker gets the related traces."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.engine import Engine
from tests.sql.families import WORK

ONE = f"00-{1:032x}-{1:016x}-01"
TWO = f"00-{2:032x}-{2:016x}-01 vendor=a,other=b"


def traces(engine: Engine, *ids: int) -> list[tuple[int, str, str]]:
    found = engine.rows("select task_id, relation, trace_context from rolecall.traces_of(%s)", list(ids))
    return sorted((task_id, relation, context) for task_id, relation, context in found)


def stored(engine: Engine, table: str, task_id: int) -> str | None:
    context: str | None = engine.value(f"select trace_context from rolecall.{table} where id = %s", task_id)
    return context


def test_task_keeps_its_trace_when_finished_and_retried(engine: Engine) -> None:
    completed, failed = engine.enqueue(trace_context=ONE), engine.enqueue(trace_context=TWO, max_attempts=1)
    engine.complete(engine.claim_one())
    engine.fail(engine.claim_one())

    assert stored(engine, "finished_tasks", completed) == ONE
    assert stored(engine, "finished_tasks", failed) == TWO
    engine.retry(failed)
    assert stored(engine, "tasks", failed) == TWO


def test_task_without_a_trace_has_no_traces(engine: Engine) -> None:
    task_id = engine.enqueue()

    assert stored(engine, "tasks", task_id) is None
    assert traces(engine, task_id) == []


def test_trace_of_the_origin_is_returned_with_its_own(engine: Engine) -> None:
    engine.enqueue(trace_context=ONE)
    engine.complete(engine.claim_one(), next={"follow_ups": [{**WORK, "trace_context": TWO}], "continuation": WORK})
    follow_up, continuation = (claim.id for claim in sorted(engine.claim(2), key=lambda claim: claim.chain_index))

    assert traces(engine, follow_up) == [(follow_up, "origin", ONE), (follow_up, "own", TWO)]
    assert traces(engine, continuation) == [(continuation, "origin", ONE)]


def test_traces_of_parent_and_children_are_returned(engine: Engine) -> None:
    parent = engine.enqueue(trace_context=ONE)
    engine.complete(engine.claim_one(), next={"children": [{**WORK, "trace_context": TWO}], "gathers": True})
    child = engine.claim_one()

    assert traces(engine, child.id) == [(child.id, "own", TWO), (child.id, "parent", ONE)]
    engine.complete(child)
    assert engine.claim_one().id == parent
    assert traces(engine, parent) == [(parent, "child", TWO), (parent, "own", ONE)]


def test_trace_of_a_need_is_returned(engine: Engine) -> None:
    needed = engine.enqueue(trace_context=ONE)
    needing = engine.enqueue(needs=[{"task": needed}])
    engine.complete(engine.claim_one())

    assert traces(engine, engine.claim_one().id) == [(needing, "need", ONE)]


def test_overlong_trace_context_is_rejected(engine: Engine) -> None:
    with pytest.raises(psycopg.Error, match="trace_context has 1001 characters, allowed are 1000"):
        engine.enqueue(trace_context="x" * 1001)
