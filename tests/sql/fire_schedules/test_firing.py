"""Firing schedules: one task per fire time, without drift."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tests.sql.conftest import Session
from tests.sql.engine import START, Engine


def stored(engine: Engine, column: str) -> Any:
    return engine.value(f"select {column} from rolecall.schedules where name = 'tick'")


def test_due_schedule_enqueues_its_task(engine: Engine) -> None:
    engine.put_schedule(payload={"state": "AZ"}, priority=5, key="k")

    [(name, task_id)] = engine.fire_schedules()

    assert name == "tick"
    assert task_id is not None
    task = engine.task(task_id)
    assert (task.role, task.payload, task.priority, task.key) == ("work", {"state": "AZ"}, 5, "k")
    assert stored(engine, "(last_task_id, last_task_count, last_error)::text") == f"({task_id},1,)"
    assert stored(engine, "last_run_at") == START


def test_schedule_is_not_fired_before_its_time(engine: Engine) -> None:
    engine.put_schedule(every=60)
    engine.fire_schedules()
    engine.clock.advance(seconds=59.9)
    assert engine.fire_schedules() == []

    engine.clock.advance(seconds=0.1)

    assert len(engine.fire_schedules()) == 1


def test_claim_has_the_fire_time_of_every_attempt(engine: Engine) -> None:
    engine.put_schedule(every=3600, jitter=60)
    engine.clock.advance(minutes=20)
    [(_, task_id)] = engine.fire_schedules()

    first = engine.claim_one()
    engine.fail(first)
    engine.clock.advance(minutes=5)
    second = engine.claim_one()
    engine.fail(second, final=True)
    engine.rows("select rolecall.retry(array[%s::bigint])", task_id)
    third = engine.claim_one()
    engine.complete(third)

    assert [claim.fire_time for claim in (first, second, third)] == [START] * 3
    assert engine.value("select fire_time from rolecall.all_tasks where id = %s", task_id) == START


def test_manual_run_and_other_tasks_have_no_fire_time(engine: Engine) -> None:
    engine.put_schedule(every=3600, first_run_at=(START + timedelta(hours=1)).isoformat())
    engine.rows("select rolecall.trigger_schedule('tick')")
    engine.enqueue()

    assert [claim.fire_time for claim in engine.claim(2)] == [None, None]


def test_disabled_schedule_is_not_fired(engine: Engine) -> None:
    engine.put_schedule(enabled=False)

    assert engine.fire_schedules() == []


def test_fire_times_do_not_drift_with_late_ticks(engine: Engine) -> None:
    engine.put_schedule(every=60)
    for delay in (0, 7, 59):
        engine.clock.set(START + timedelta(seconds=60 * delay + delay))
        engine.fire_schedules()

        assert (stored(engine, "next_run_at") - START) % timedelta(seconds=60) == timedelta()


def test_missed_fire_times_are_combined_into_one_run(engine: Engine) -> None:
    engine.put_schedule(every=60)
    engine.fire_schedules()
    engine.clock.advance(seconds=10 * 60 + 30)

    assert len(engine.fire_schedules()) == 1
    assert engine.fire_schedules() == []
    assert stored(engine, "next_run_at") == START + timedelta(minutes=11)


def test_every_fire_time_of_a_day_enqueues_one_task(engine: Engine) -> None:
    engine.put_schedule(every=3600)
    for _ in range(4 * 24):
        engine.fire_schedules()
        engine.clock.advance(minutes=15)

    assert [task.created_at for task in engine.tasks()] == [START + timedelta(hours=hour) for hour in range(24)]


def test_two_schedulers_fire_a_time_once(engine: Engine, session: Session) -> None:
    """The second skips what the first has locked, and finds nothing afterwards."""
    other = session()
    engine.put_schedule()
    with engine.connection.transaction():
        assert len(engine.fire_schedules()) == 1
        assert other.fire_schedules() == []

    assert other.fire_schedules() == []
    assert len(engine.tasks()) == 1


def test_rolled_back_tick_leaves_the_fire_time_to_the_next(engine: Engine, session: Session) -> None:
    """The task and the next run are written in one transaction."""
    engine.put_schedule()
    engine.rows("begin")
    engine.fire_schedules()
    engine.rows("rollback")
    assert engine.tasks() == []

    assert len(session().fire_schedules()) == 1


def test_fire_time_blocked_by_a_lock_is_not_lost(engine: Engine, session: Session) -> None:
    """Temporary errors, such as a lock timeout or a full disk, skip no fire time."""
    schedule_id = engine.put_schedule()
    other = session()
    other.rows("begin")
    other.enqueue(dedupe_key=f"schedule:{schedule_id}:{START.timestamp():.0f}")
    engine.rows("set lock_timeout = '50ms'")

    with pytest.raises(psycopg.errors.LockNotAvailable):
        engine.fire_schedules()

    assert (stored(engine, "next_run_at"), stored(engine, "last_error")) == (START, None)
    other.rows("rollback")
    [(name, task_id)] = engine.fire_schedules()
    assert (name, engine.state(task_id or 0)) == ("tick", "pending")


def test_schedule_with_a_rejected_task_records_the_error_and_blocks_no_other(engine: Engine) -> None:
    engine.declare({"name": "gone"})
    engine.put_schedule("bad", role="gone")
    engine.put_schedule("good")
    engine.rows("delete from rolecall.roles where name = 'gone'")

    fired = dict(engine.fire_schedules())

    assert fired["bad"] is None
    assert fired["good"] is not None
    [(error, count, next_run_at)] = engine.rows(
        "select last_error, last_task_count, next_run_at from rolecall.schedules where name = 'bad'"
    )
    assert ("unknown role" in error, count, next_run_at) == (True, 0, START + timedelta(seconds=60))


def test_call_fires_a_limited_number_with_the_most_overdue_first(engine: Engine) -> None:
    for name, minutes in (("c", 3), ("a", 1), ("b", 2)):
        engine.put_schedule(name, first_run_at=(START + timedelta(minutes=minutes)).isoformat())
    engine.clock.advance(minutes=5)

    assert [name for name, _ in engine.fire_schedules(2)] == ["a", "b"]
    assert [name for name, _ in engine.fire_schedules(2)] == ["c"]


def test_fire_times_of_one_schedule_are_not_deduplicated(engine: Engine) -> None:
    """The open task of a fire time must not deduplicate the next."""
    engine.put_schedule(every=60)
    engine.fire_schedules()
    engine.clock.advance(seconds=60)
    engine.fire_schedules()

    assert len(engine.tasks()) == 2
