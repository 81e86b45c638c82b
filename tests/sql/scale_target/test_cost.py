"""The cost of an autoscaler's query, which runs every two seconds."""

from __future__ import annotations

from tests.sql.costs import MANY, assert_cheap, fill
from tests.sql.engine import Engine

TARGET = "select rolecall.scale_target('work', 100)"


def test_tasks_due_later_cost_nothing(live_engine: Engine) -> None:
    fill(live_engine, MANY, after=3600)
    fill(live_engine, 10)

    assert_cheap(live_engine, TARGET)


def test_due_tasks_are_counted_only_up_to_the_limit(live_engine: Engine) -> None:
    fill(live_engine, MANY)

    assert live_engine.value(TARGET) == 100
    assert_cheap(live_engine, TARGET)
