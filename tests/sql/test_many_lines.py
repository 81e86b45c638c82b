"""The cost of unrelated lines: thousands of roles, handlers and priorities, only one of which has tasks."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.sql.costs import buffers, fill
from tests.sql.engine import Engine

LINES = 2_000
NAMES = "array(select 'r' || n from generate_series(1, {}) as n)"
ALL = f"{NAMES.format(LINES)} || '{{work}}'::text[]"


@pytest.fixture
def engine(live_engine: Engine) -> Engine:
    """The engine with the real clock, because watermarks depend on elapsed time."""
    return live_engine


def add_lines(engine: Engine, number: int) -> None:
    """Add roles, handlers and lines without tasks."""
    for query in (
        "insert into rolecall.roles (name) select unnest({})",
        "insert into rolecall.handlers (name, role) select name, name from unnest({}) as name",
        "insert into rolecall.lines (role, handler, priority) select name, name, 0 from unnest({}) as name",
    ):
        engine.rows(query.format(NAMES.format(number)) + " on conflict do nothing")
    engine.rows("vacuum analyze rolecall.roles, rolecall.handlers, rolecall.lines")


def enqueue(engine: Engine) -> int:
    return buffers(engine, "select * from rolecall.enqueue_many(%s)", json.dumps([{"role": "work"}]))


def claim_nothing(engine: Engine) -> int:
    return min(buffers(engine, f"select * from rolecall.claim(1, '{{}}', {ALL}, 1)") for _ in range(3))


def claim_one(engine: Engine) -> int:
    fill(engine, 20)
    return claim_nothing(engine)


def ask_when_the_next_is_due(engine: Engine) -> int:
    fill(engine, 1, after=3600)
    return buffers(engine, f"select rolecall.next_due('{{}}', {ALL})")


def claim_with_a_key(engine: Engine) -> int:
    fill(engine, 20, key="k")
    return claim_nothing(engine)


def finish_with_a_key(engine: Engine) -> int:
    fill(engine, 20, key="k")
    [(task_id, fence)] = engine.rows("select id, fence from rolecall.claim(1, '{}', '{work}', 1)")
    engine.rows("select from rolecall.claim(1, '{}', '{work}', 1)")
    report = json.dumps([{"id": task_id, "fence": fence, "outcome": "completed"}])
    return buffers(engine, "select * from rolecall.finish(1, %s)", report)


@pytest.mark.parametrize(
    "cost",
    [enqueue, claim_nothing, claim_one, ask_when_the_next_is_due, claim_with_a_key, finish_with_a_key],
)
def test_lines_without_tasks_do_not_affect_the_cost_of_a_call(engine: Engine, cost: Callable[[Engine], int]) -> None:
    add_lines(engine, 8)
    with_few = cost(engine)
    engine.rows("delete from rolecall.tasks")

    add_lines(engine, LINES)

    assert cost(engine) <= 2 * with_few + 20
