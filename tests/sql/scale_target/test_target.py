"""The autoscaler's metric: due runnable tasks plus running ones."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.engine import WORK, Engine


def target(engine: Engine, role: str = "work") -> int:
    number: int = engine.value("select rolecall.scale_target(%s)", role)
    return number


def test_due_and_running_tasks_of_the_role_are_added(engine: Engine) -> None:
    engine.declare({"name": "other"})
    engine.enqueue_many([{"role": "work"}] * 5 + [{"role": "other"}] * 2)
    engine.claim(2, "work")

    assert target(engine) == 5


def test_every_line_of_the_role_counts(engine: Engine) -> None:
    engine.declare(WORK, handlers=[{"name": "h", "role": "work"}])
    engine.enqueue_many([{"role": "work"}, {"handler": "h"}, {"role": "work", "priority": 9}])

    assert target(engine) == 3


def test_scheduled_task_counts_when_it_is_due(engine: Engine) -> None:
    engine.enqueue(after=60)
    assert target(engine) == 0

    engine.clock.advance(seconds=60)

    assert target(engine) == 1


def test_task_waiting_for_a_busy_key_does_not_count(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work", "key": "k"}] * 3)
    engine.claim(3)

    assert target(engine) == 1


def test_paused_role_counts_only_running_tasks(engine: Engine) -> None:
    engine.enqueue_many([{"role": "work"}] * 3)
    engine.claim_one()
    engine.rows("update rolecall.roles set paused_at = rolecall.clock()")

    assert target(engine) == 1


def test_finished_tasks_do_not_count(engine: Engine) -> None:
    engine.enqueue()
    engine.complete(engine.claim_one())

    assert target(engine) == 0


def test_count_is_limited_to_the_given_maximum(engine: Engine) -> None:
    engine.declare(WORK, handlers=[{"name": "h", "role": "work"}])
    engine.enqueue_many([{"role": "work"}] * 5 + [{"handler": "h"}] * 5)

    assert engine.value("select rolecall.scale_target('work', 7)") == 7


def test_undeclared_role_is_rejected(engine: Engine) -> None:
    with pytest.raises(psycopg.Error, match="there is no role 'wrok'") as caught:
        target(engine, "wrok")

    assert caught.value.sqlstate == "RC031"
