"""Firing by cron expression: a plan is used once, and only for the schedule that it was made for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from psycopg.types.json import Jsonb

from rolecall.maintenance.cron import plan
from rolecall.model.schedules import DueCron
from tests.sql.conftest import Session
from tests.sql.engine import START, Engine


def put(engine: Engine, cron: str = "*/10 * * * *", **words: object) -> None:
    engine.rows("select rolecall.put_schedule(%s)", Jsonb({"name": "tick", "role": "work", "cron": cron, **words}))


def plans(engine: Engine) -> list[dict[str, Any]]:
    """Return the plans that a tick would pass now."""
    found = [plan(DueCron(*row)) for row in engine.rows("select * from rolecall.due_cron()")]
    return [
        {
            "id": each.due.id,
            "revision": each.due.revision,
            "planned_from": each.due.next_run_at.isoformat(),
            "slots": [slot.isoformat() for slot in each.slots],
            "come": each.due_count,
            "next": each.next and each.next.isoformat(),
            "error": each.error,
        }
        for each in found
    ]


def fire(engine: Engine, several: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return engine.rows("select * from rolecall.fire_cron(%s)", Jsonb(several))


def tick(engine: Engine) -> list[tuple[Any, ...]]:
    return fire(engine, plans(engine))


def stored(engine: Engine, column: str) -> Any:
    return engine.value(f"select {column} from rolecall.schedules")


def test_first_fire_time_follows_the_expression(engine: Engine) -> None:
    engine.clock.advance(minutes=1)
    put(engine)

    assert tick(engine) == []
    assert stored(engine, "next_run_at") == START + timedelta(minutes=10)


def test_each_fire_time_has_its_own_dedupe_key(engine: Engine) -> None:
    put(engine)
    for _ in range(30):
        tick(engine)
        engine.clock.advance(minutes=1)

    assert [task.dedupe_key for task in engine.tasks()] == [
        f"schedule:1:{int(START.timestamp()) + 600 * number}" for number in range(3)
    ]


def test_same_plan_fires_once(engine: Engine, session: Session) -> None:
    put(engine)
    same = plans(engine)

    assert len(fire(engine, same)) == 1
    assert fire(session(), same) == []
    assert len(engine.tasks()) == 1


def test_plan_does_not_wait_for_one_in_progress(engine: Engine, session: Session) -> None:
    put(engine)
    same = plans(engine)
    with engine.connection.transaction():
        fire(engine, same)
        assert fire(session(), same) == []


def test_plan_for_a_changed_expression_is_ignored(engine: Engine) -> None:
    put(engine)
    old = plans(engine)
    put(engine, "0 12 * * *")

    assert fire(engine, old) == []
    assert engine.tasks() == []


def test_plan_for_a_disabled_schedule_is_ignored(engine: Engine) -> None:
    put(engine)
    old = plans(engine)
    put(engine, enabled=False)

    assert fire(engine, old) == []


def test_missed_fire_times_are_combined_into_one_run(engine: Engine) -> None:
    put(engine)
    tick(engine)
    engine.clock.advance(minutes=65)

    assert len(tick(engine)) == 1
    assert engine.value("select missed from rolecall.schedule_runs order by id desc limit 1") == 5
    assert stored(engine, "next_run_at") == START + timedelta(minutes=70)


def test_latest_hundred_fire_times_are_run_after_a_long_downtime(engine: Engine) -> None:
    """The cost must not grow with the downtime."""
    put(engine, "* * * * *", misfire="all")
    engine.clock.advance(days=10)

    tick(engine)

    assert len(engine.tasks()) == 100
    last, first = engine.rows("select max(slot), min(slot) from rolecall.schedule_runs")[0]
    assert (last, last - first) == (START + timedelta(days=10), timedelta(minutes=99))


def test_invalid_expression_disables_the_schedule_and_records_the_error(engine: Engine) -> None:
    """An expression stored by hand in SQL is not validated."""
    put(engine, "at noon")

    assert tick(engine) == []
    assert not stored(engine, "enabled")
    assert "has 2 fields" in stored(engine, "last_error")


def test_fire_times_missed_while_disabled_are_not_run(engine: Engine) -> None:
    put(engine, misfire="all")
    tick(engine)
    put(engine, enabled=False)
    engine.clock.advance(minutes=95)
    put(engine, enabled=True)

    assert tick(engine) == []
    assert stored(engine, "next_run_at") == START + timedelta(minutes=100)


def test_first_run_can_be_set(engine: Engine) -> None:
    put(engine, first_run_at="2026-06-01T00:05:00Z")
    engine.clock.set(datetime(2026, 6, 1, 0, 10, tzinfo=UTC))

    assert len(tick(engine)) == 1
    assert engine.value("select slot from rolecall.schedule_runs") == datetime(2026, 6, 1, 0, 10, tzinfo=UTC)
