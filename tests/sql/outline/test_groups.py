"""The children of a task by handler and state, whose rows a waterfall draws."""

from __future__ import annotations

from datetime import timedelta

from rolecall.db.run import run
from rolecall.model.operator.details import SiblingGroup
from rolecall.sql import outlines
from rolecall.testing import Clock
from tests.sql.costs import buffers
from tests.sql.engine import START, Engine
from tests.sql.families import family

MANY = 3_000


def groups(engine: Engine, parent: int) -> list[SiblingGroup]:
    return run(engine.connection, outlines.sibling_groups([parent], START))[1]


def test_group_names_its_slowest_child(engine: Engine, clock: Clock) -> None:
    clock.set(START)
    parent, children = family(engine, 4)
    for seconds in (2, 5, 1):
        claim = engine.claim_one()
        engine.start(claim)
        clock.advance(seconds=seconds)
        engine.complete(claim)

    completed, pending = groups(engine, parent)

    assert (completed.number, completed.slowest_id, completed.slowest_seconds) == (3, children[1], 5)
    assert completed.finished_at == START + timedelta(seconds=8)
    assert (pending.number, pending.slowest_id, pending.slowest_seconds) == (1, children[3], None)
    assert pending.finished_at is None


def test_outline_and_groups_read_each_child_once(engine: Engine) -> None:
    parent, _ = family(engine, MANY)
    engine.rows("analyze rolecall.tasks")

    once = buffers(engine, "select * from rolecall.count_children(%s)", parent)

    assert buffers(engine, "select * from rolecall.sibling_groups(array[%s], %s)", parent, START) < once + 50
    assert buffers(engine, "select * from rolecall.outline(%s)", parent) < once + 200
