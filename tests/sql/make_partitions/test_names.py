"""Partitions are identified by their bounds: their own names and those of other relations do not matter."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.sql.engine import START, Engine

HOSTILE = 'other."day\'s %s 97559544"'
COUNTS = "select sum(number)::int from rolecall.finished_counts"


def finish(engine: Engine, number: int) -> None:
    for _ in range(number):
        engine.enqueue()
        engine.complete(engine.claim_one())


def parts(engine: Engine) -> list[str]:
    rows = engine.rows("select partition::text from rolecall.partitions_of('rolecall.finished_tasks')")
    return [str(name) for (name,) in rows]


def test_database_contains_objects_of_other_programs(engine: Engine) -> None:
    query = """
    select count(*) from pg_class join pg_namespace as space on space.oid = relnamespace
    where pg_class.oid >= 16384 and nspname not in ('rolecall', 'pg_toast')
    """
    assert engine.value(query) >= 200


def test_partition_is_listed_by_its_bounds_under_any_name(engine: Engine) -> None:
    engine.rows("select rolecall.make_partitions(1)")
    engine.rows("create schema other")
    engine.rows("alter table rolecall.finished_tasks_20260101 set schema other")
    engine.rows('alter table other.finished_tasks_20260101 rename to "day\'s %s 97559544"')

    assert parts(engine) == [HOSTILE, "rolecall.finished_tasks_20260102"]


@pytest.mark.parametrize("setting", ["datestyle = 'SQL, DMY'", "timezone = 'Pacific/Kiritimati'"])
def test_bounds_are_read_the_same_in_every_session(engine: Engine, setting: str) -> None:
    engine.rows("select rolecall.make_partitions(0)")
    query = "select label, extract(epoch from begins), extract(epoch from ends) from rolecall.partitions_of('rolecall.finished_tasks')"
    here = engine.rows(query)
    engine.rows(f"set {setting}")

    assert engine.rows(query) == here == [("2026-01-01", *here[0][1:])]


def test_taken_name_does_not_prevent_a_partition(engine: Engine) -> None:
    engine.rows("create view rolecall.finished_tasks_20260101 as select 1 as id")
    engine.rows("create type rolecall.finished_tasks_20260102 as enum ('x')")

    assert engine.value("select rolecall.make_partitions(1)") == 4
    assert parts(engine) == ["rolecall.finished_tasks_20260101_", "rolecall.finished_tasks_20260102_"]


@pytest.mark.parametrize("kept_too", [False, True])
def test_renamed_partition_is_dropped_on_time(engine: Engine, kept_too: bool) -> None:
    engine.rows("select rolecall.make_partitions(1)")
    finish(engine, 3)
    if kept_too:  # A finished task that an open one needs moves to the default partition.
        engine.enqueue(needs=[1])
    engine.clock.advance(days=1)
    while engine.value("select rolecall.roll_up_counts('0 s')"):
        pass
    engine.rows('alter table rolecall.finished_tasks_20260101 rename to "day\'s %s 97559544"')
    engine.rows("update rolecall.roles set keep_completed = '30 days', keep_failed = '30 days'")
    engine.clock.set(START + timedelta(days=31))

    engine.rows("select * from rolecall.prune()")

    assert parts(engine) == ["rolecall.finished_tasks_20260102"]
    assert engine.value("select count(*) from rolecall.finished_tasks where id <= 3") == (1 if kept_too else 0)


def test_partition_of_a_week_is_kept_until_it_is_over(engine: Engine) -> None:
    """A database administrator may have created it."""
    engine.rows("set timezone = 'UTC'")
    engine.rows(
        "create table public.week partition of rolecall.finished_tasks for values from ('2026-01-01') to ('2026-01-08')"
    )
    engine.rows("alter table public.week replica identity full")
    finish(engine, 2)
    assert engine.value("select rolecall.make_partitions(0)") == 1, "that day has a partition"
    while engine.value("select rolecall.roll_up_counts('0 s')"):
        pass
    engine.clock.set(START + timedelta(days=20))
    engine.rows("select * from rolecall.prune()")
    assert "week" in parts(engine)

    engine.clock.set(START + timedelta(days=22, seconds=1))
    engine.rows("select * from rolecall.prune()")

    assert "week" not in parts(engine)


@pytest.mark.parametrize(
    "call", ["select * from rolecall.prune()", "select rolecall.roll_up_counts()", "select rolecall.roll_up_history()"]
)
def test_names_of_other_programs_do_not_break_maintenance_under_any_plan(engine: Engine, call: str) -> None:
    """Django names an index auth_user_groups_group_id_97559544, which does not end in a date."""
    for way in ("nestloop", "indexscan", "indexonlyscan", "bitmapscan"):
        engine.rows(f"set enable_{way} = off")
    engine.rows("select rolecall.make_partitions(1)")
    finish(engine, 1)
    engine.clock.advance(days=40)

    assert engine.rows(call)
