"""Missed fire times, runs whose previous task is still open, and the history of both."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.sql.engine import START, Engine

RUNS = "select outcome, missed, extract(epoch from at - slot)::int, task_id from rolecall.schedule_runs order by id"


def outcomes(engine: Engine) -> list[tuple[Any, ...]]:
    """Return the outcome of each run, how many fire times were missed before it, and its delay."""
    return [run[:3] for run in engine.rows(RUNS)]


def ten_slots_go_by(engine: Engine, **words: object) -> None:
    """Let ten fire times of five minutes pass, the last one two minutes ago."""
    engine.put_schedule(every=300, first_run_at=(START + timedelta(minutes=5)).isoformat(), **words)
    engine.clock.advance(minutes=52)
    engine.fire_schedules()


@pytest.mark.parametrize(("misfire", "tasks"), [("skip", 0), ("one", 1), ("all", 10)])
def test_misfire_policy_sets_how_many_missed_fire_times_run(engine: Engine, misfire: str, tasks: int) -> None:
    ten_slots_go_by(engine, misfire=misfire)

    assert len(engine.tasks()) == tasks
    assert engine.value("select next_run_at from rolecall.schedules") == START + timedelta(minutes=55)


def test_schedule_run_records_the_number_of_missed_fire_times(engine: Engine) -> None:
    ten_slots_go_by(engine)

    assert outcomes(engine) == [("enqueued", 9, 120)]


def test_late_fire_time_that_is_skipped_is_recorded(engine: Engine) -> None:
    ten_slots_go_by(engine, misfire="skip")

    assert outcomes(engine) == [("missed", 9, 120)]


def test_recent_fire_time_is_run_although_earlier_ones_are_skipped(engine: Engine) -> None:
    engine.put_schedule(every=300, misfire="skip")
    engine.clock.advance(minutes=10, seconds=59)

    engine.fire_schedules()

    assert outcomes(engine) == [("enqueued", 2, 59)]


def test_missed_fire_times_are_run_individually_in_order(engine: Engine) -> None:
    ten_slots_go_by(engine, misfire="all")

    slots = [int((task.dedupe_key or "").split(":")[-1]) for task in engine.tasks()]
    assert slots == [START.timestamp() + 300 * number for number in range(1, 11)]


def test_at_most_the_latest_hundred_fire_times_are_run(engine: Engine) -> None:
    engine.put_schedule(every=60, misfire="all")
    engine.clock.advance(minutes=149)

    engine.fire_schedules()

    assert len(engine.tasks()) == 100
    assert engine.value("select sum(missed) from rolecall.schedule_runs") == 50
    assert engine.value("select max(slot) from rolecall.schedule_runs") == START + timedelta(minutes=149)


@pytest.mark.parametrize(
    ("overlap", "states"),
    [("queue", ["running", "pending"]), ("skip", ["running"]), ("cancel", ["running", "pending"])],
)
def test_overlap_policy_applies_while_the_previous_task_is_open(
    engine: Engine, overlap: str, states: list[str]
) -> None:
    engine.put_schedule(overlap=overlap)
    engine.fire_schedules()
    claim = engine.claim_one()
    engine.clock.advance(seconds=60)

    engine.fire_schedules()

    assert [task.state for task in engine.tasks()] == states
    assert (engine.task(claim.id).cancel_requested_at is not None) == (overlap == "cancel")


def test_skipped_run_is_recorded(engine: Engine) -> None:
    engine.put_schedule(overlap="skip")
    for _ in range(2):
        engine.fire_schedules()
        engine.clock.advance(seconds=60)

    assert outcomes(engine) == [("enqueued", 0, 0), ("skipped", 0, 0)]


def test_continued_chain_counts_as_open(engine: Engine) -> None:
    engine.put_schedule(overlap="skip")
    engine.fire_schedules()
    engine.complete(engine.claim_one(), next={"continuation": {"role": "work"}})
    engine.clock.advance(seconds=60)

    engine.fire_schedules()

    assert outcomes(engine)[-1][0] == "skipped"


def test_tasks_of_several_schedules_are_cancelled_in_one_call(engine: Engine) -> None:
    """Cancelling and enqueuing are one transaction, which locks tasks in one order."""
    for name in ("a", "b"):
        engine.put_schedule(name, overlap="cancel")
    engine.fire_schedules()
    engine.clock.advance(seconds=60)

    engine.fire_schedules()

    assert [task.state for task in engine.tasks()] == ["cancelled", "cancelled", "pending", "pending"]


def test_jitter_delays_the_task_within_its_limit_but_not_the_schedule(engine: Engine) -> None:
    engine.put_schedule(every=3600, jitter=600)
    for _ in range(20):
        engine.fire_schedules()
        engine.clock.advance(hours=1)

    delays = [(task.scheduled_for - task.created_at).total_seconds() for task in engine.tasks()]
    assert all(0 <= delay <= 600 for delay in delays)
    assert max(delays) - min(delays) > 200
    assert [task.created_at for task in engine.tasks()] == [START + timedelta(hours=hour) for hour in range(20)]


def test_jitter_is_the_same_for_the_same_fire_time(engine: Engine) -> None:
    draw = "select rolecall.slot_offset(7, '2026-03-08 02:30Z', '10 minutes')"

    assert engine.value(draw) == engine.value(draw)
    assert engine.value(draw) != engine.value(draw.replace("02:30", "03:30"))


def test_tasks_enqueued_by_a_generator_are_counted(engine: Engine) -> None:
    engine.put_schedule()
    engine.fire_schedules()
    engine.complete(engine.claim_one(), next={"follow_ups": [{"role": "work"}] * 3})

    assert engine.value("select generated from rolecall.schedule_runs") == 3


def test_children_spawned_by_a_generator_are_counted(engine: Engine) -> None:
    """Existing duplicates are not counted."""
    engine.put_schedule()
    engine.fire_schedules()
    drafts = [{"role": "work", "dedupe_key": "one"}, {"role": "work", "dedupe_key": "one"}, {"role": "work"}]
    engine.complete(engine.claim_one(), next={"children": drafts})

    assert engine.value("select generated from rolecall.schedule_runs") == 2


def test_continuation_is_not_counted_as_a_generated_task(engine: Engine) -> None:
    engine.put_schedule()
    engine.fire_schedules()
    engine.complete(engine.claim_one(), next={"continuation": {"role": "work"}})

    assert engine.value("select generated from rolecall.schedule_runs") == 0


def test_schedule_runs_are_pruned_by_age_and_by_number(engine: Engine) -> None:
    engine.put_schedule(every=60)
    engine.rows(
        """insert into rolecall.schedule_runs (schedule_id, slot, at, outcome, missed)
        select 1, rolecall.clock(), rolecall.clock(), 'missed', 0 from generate_series(1, 1010)"""
    )

    assert engine.prune()["schedule_runs"] == 10
    engine.clock.advance(days=31)
    assert engine.prune()["schedule_runs"] == 1000
