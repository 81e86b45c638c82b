"""Storing and changing schedules."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.engine import START, Engine


def stored(engine: Engine, column: str) -> Any:
    return engine.value(f"select {column} from rolecall.schedules where name = 'tick'")


def test_new_schedule_is_due_immediately(engine: Engine) -> None:
    engine.put_schedule()

    assert stored(engine, "next_run_at") == START
    assert stored(engine, "enabled")


def test_new_schedule_can_set_its_first_run(engine: Engine) -> None:
    first = START + timedelta(days=1)
    engine.put_schedule(first_run_at=first.isoformat())

    assert stored(engine, "next_run_at") == first


def test_storing_a_schedule_again_updates_it(engine: Engine) -> None:
    """Names are unique."""
    schedule_id = engine.put_schedule(priority=5)

    assert engine.put_schedule(every=120) == schedule_id
    assert engine.value("select count(*) from rolecall.schedules") == 1


def test_omitted_fields_keep_their_values(engine: Engine) -> None:
    engine.put_schedule(priority=5, payload={"state": "AZ"}, key="k", enabled=False)

    engine.put_schedule(payload=None)

    assert stored(engine, "(priority, payload, key, enabled)::text") == '(5,"{""state"": ""AZ""}",k,f)'


def test_changed_interval_starts_at_the_last_run(engine: Engine) -> None:
    engine.put_schedule(every=3600)
    engine.fire_schedules()
    engine.clock.advance(minutes=10)

    engine.put_schedule(every=1800)

    assert stored(engine, "next_run_at") == START + timedelta(minutes=30)


def test_unchanged_interval_keeps_the_next_run(engine: Engine) -> None:
    engine.put_schedule(every=3600)
    engine.fire_schedules()
    engine.clock.advance(minutes=10)

    engine.put_schedule(every=3600, priority=1)

    assert stored(engine, "next_run_at") == START + timedelta(hours=1)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ({"name": ""}, "RC021"),
        ({"name": "x" * 101}, "RC021"),
        ({"name": None}, "RC021"),
        ({"every": 0.5}, "RC021"),
        ({"every": None}, "RC021"),
        ({"every": 10**10}, "RC021"),
        ({"first_run_at": "-infinity"}, "RC021"),
        ({"first_run_at": "infinity"}, "RC021"),
        ({"role": "unknown"}, "RC031"),
        ({"payload": [1]}, "RC040"),
        ({"priority": 1000}, "RC040"),
        ({"key": ""}, "RC040"),
    ],
)
def test_invalid_schedule_is_rejected(engine: Engine, words: dict[str, object], code: str) -> None:
    document = {"name": "tick", "every": 60, "role": "work", **words}

    with pytest.raises(psycopg.Error) as refusal:
        engine.rows("select rolecall.put_schedule(%s)", Jsonb(document))

    assert refusal.value.sqlstate == code


def test_tasks_of_a_deleted_schedule_are_kept(engine: Engine) -> None:
    engine.put_schedule()
    [(_, task_id)] = engine.fire_schedules()

    assert engine.value("select rolecall.delete_schedule('tick')")
    assert not engine.value("select rolecall.delete_schedule('tick')")
    assert [task.id for task in engine.tasks()] == [task_id]


def test_ensuring_schedules_does_not_overwrite_edited_ones(engine: Engine) -> None:
    defaults = Jsonb([{"name": name, "every": 60, "role": "work"} for name in ("tick", "tock")])
    engine.put_schedule(every=7200, enabled=False)

    assert engine.value("select rolecall.ensure_schedules(%s)", defaults) == 1
    assert engine.value("select rolecall.ensure_schedules(%s)", defaults) == 0
    assert stored(engine, "every") == timedelta(hours=2)


def test_timestamps_are_read_with_their_time_zone(engine: Engine) -> None:
    engine.rows("set timezone = 'America/Phoenix'")
    engine.put_schedule(first_run_at="2026-03-08T09:30:00Z")

    assert stored(engine, "next_run_at") == datetime.fromisoformat("2026-03-08T09:30:00Z")
