"""The cost of trees and needs in buffers: calls read no siblings and no unrelated blocked tasks."""

from __future__ import annotations

import json

import pytest

from tests.sql.costs import CLAIM, FEW_BUFFERS, assert_cheap, buffers, fill
from tests.sql.engine import Engine, report
from tests.sql.families import WORK

CHILDREN = 10_000
BLOCKED = 20_000


@pytest.fixture
def engine(live_engine: Engine) -> Engine:
    """The engine with the real clock, because watermarks depend on elapsed time."""
    return live_engine


@pytest.fixture
def parent_id(engine: Engine) -> int:
    """A parent that waits for many children, without statistics on them."""
    parent_id = engine.enqueue()
    engine.complete(engine.claim_one(), next={"children": [WORK] * CHILDREN})
    return parent_id


@pytest.fixture
def blocked(engine: Engine) -> int:
    """The task that many others need."""
    needed = engine.enqueue(after=3600)
    fill(engine, BLOCKED, needs=[needed])
    return needed


def finish(engine: Engine, number: int) -> str:
    """Claim tasks; return the call that completes them."""
    claims = engine.claim(number, worker=1)
    reports = [report(claim, "completed") for claim in claims]
    return f"select * from rolecall.finish(1, '{json.dumps(reports)}')"


def cheapest(engine: Engine, number: int) -> int:
    return min(buffers(engine, finish(engine, number)) for _ in range(3))


@pytest.mark.parametrize("analyzed", [False, True])
def test_finishing_a_child_does_not_read_its_siblings(engine: Engine, parent_id: int, analyzed: bool) -> None:
    if analyzed:
        engine.rows("vacuum analyze rolecall.tasks")

    assert cheapest(engine, 1) < FEW_BUFFERS
    assert engine.task(parent_id).open_children == CHILDREN - 3


def test_batch_of_children_costs_less_than_twice_a_plain_batch(engine: Engine) -> None:
    """The count of the parent is updated once per call."""
    fill(engine, 300)
    plain = cheapest(engine, 100)
    parent_id = engine.enqueue(priority=1)
    engine.complete(engine.claim_one(), next={"children": [WORK] * CHILDREN})
    children = cheapest(engine, 100)

    assert engine.task(parent_id).open_children == CHILDREN - 300
    assert children < 2 * plain


def test_failing_a_child_does_not_read_its_siblings(engine: Engine, parent_id: int) -> None:
    def failing() -> str:
        [claim] = engine.claim(1, worker=1)
        return f"select * from rolecall.finish(1, '{json.dumps([report(claim, 'failed', final=True, error='x')])}')"

    assert min(buffers(engine, failing()) for _ in range(3)) < FEW_BUFFERS
    assert engine.task(parent_id).state == "waiting"


def test_adding_a_sibling_does_not_read_the_others(engine: Engine, parent_id: int) -> None:
    assert_cheap(engine, f"select rolecall.spawn({parent_id}, '{json.dumps([WORK])}')")


def test_adding_a_child_does_not_read_many_serial_ones(engine: Engine) -> None:
    parent_id = engine.enqueue()
    engine.complete(engine.claim_one(), next={"children": [WORK] * 2000, "serial": True})
    for _ in range(5):
        engine.spawn(parent_id, WORK)  # a session's first calls read the catalog

    assert_cheap(engine, f"select rolecall.spawn({parent_id}, '{json.dumps([WORK])}')")


def test_cost_of_a_claim_does_not_depend_on_blocked_tasks(engine: Engine, blocked: int) -> None:
    fill(engine, 10_000)

    assert_cheap(engine, CLAIM)
    assert engine.task(blocked).state == "pending"


def test_cost_of_enqueuing_does_not_depend_on_blocked_tasks(engine: Engine, blocked: int) -> None:
    other = engine.enqueue(after=3600)

    assert_cheap(engine, f"select * from rolecall.enqueue_many('{json.dumps([WORK])}')")
    for needed in (other, blocked):
        assert_cheap(engine, f"select * from rolecall.enqueue_many('{json.dumps([{**WORK, 'needs': [needed]}])}')")


def test_meeting_a_need_does_not_read_other_blocked_tasks(engine: Engine, blocked: int) -> None:
    ids, _ = engine.enqueue_many([WORK] * 3)
    for needed in ids:
        engine.enqueue(needs=[needed])

    assert cheapest(engine, 1) < FEW_BUFFERS
    assert engine.task(blocked).state == "pending"


def test_cancelling_a_task_does_not_read_other_trees(engine: Engine, parent_id: int) -> None:
    roots = []
    for _ in range(5):
        roots.append(engine.enqueue(priority=1))
        engine.complete(engine.claim_one(), next={"children": [WORK] * 3})

    assert min(buffers(engine, f"select * from rolecall.cancel('{{{root}}}')") for root in roots) < 2 * FEW_BUFFERS
    assert engine.task(parent_id).state == "waiting"
