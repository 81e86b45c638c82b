"""Running a schedule now."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from tests.sql.engine import START, Engine


def test_manual_run_does_not_affect_the_next_run(engine: Engine) -> None:
    engine.put_schedule(every=3600)
    engine.fire_schedules()
    engine.complete(engine.claim_one())
    engine.clock.advance(minutes=1)

    task_id = engine.trigger()

    assert engine.task(task_id).created_at == START + timedelta(minutes=1)
    assert engine.value("select next_run_at from rolecall.schedules") == START + timedelta(hours=1)


def test_second_manual_run_returns_the_open_task(engine: Engine) -> None:
    engine.put_schedule()
    first = engine.trigger()
    assert engine.trigger() == first
    claim = engine.claim_one()
    assert engine.trigger() == first

    engine.complete(claim)

    assert engine.trigger() != first


def test_disabled_schedule_can_be_run(engine: Engine) -> None:
    engine.put_schedule(enabled=False)

    assert engine.task(engine.trigger()).state == "pending"


def test_unknown_name_is_rejected(engine: Engine) -> None:
    with pytest.raises(psycopg.Error, match="there is no schedule 'nope'") as refusal:
        engine.trigger("nope")

    assert refusal.value.sqlstate == "RC020"


def test_rejected_task_is_reported_with_the_schedule(engine: Engine) -> None:
    engine.declare({"name": "gone"})
    engine.put_schedule(role="gone")
    engine.rows("delete from rolecall.roles where name = 'gone'")

    with pytest.raises(psycopg.Error, match="schedule tick: .*unknown role 'gone'") as refusal:
        engine.trigger()

    assert refusal.value.sqlstate == "RC021"
