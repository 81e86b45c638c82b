"""Partitions are created in advance, one per day."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from tests.sql.conftest import Session
from tests.sql.engine import START, Claim, Engine
from tests.sql.interleavings.stage import Stage, Step, commit, opening
from tests.sql.repeating import MAKE_PARTITIONS, repeat_until_done


def make(engine: Engine, days: int = 7) -> int:
    made: int = engine.value("select rolecall.make_partitions(%s)", days)
    return made


def make_in_use(engine: Engine) -> int:
    """Create partitions while others use the tables."""
    return repeat_until_done(engine, MAKE_PARTITIONS)


def partitions(engine: Engine, parent: str = "finished_tasks") -> list[str]:
    query = (
        "select inhrelid::regclass::text from pg_inherits where inhparent = ('rolecall.' || %s)::regclass order by 1"
    )
    return [str(name).removeprefix("rolecall.") for (name,) in engine.rows(query, parent)]


def completing(claim: Claim) -> Step:
    return lambda engine: engine.complete(claim)


def test_today_and_the_following_days_have_partitions(engine: Engine) -> None:
    assert make(engine, 2) == 6

    for parent in ("finished_tasks", "task_events"):
        days = [f"{parent}_2026010{day}" for day in (1, 2, 3)]
        assert partitions(engine, parent) == [*days, f"{parent}_default"]


def test_second_call_creates_no_partitions(engine: Engine) -> None:
    make(engine)

    assert make(engine) == 0


def test_each_day_adds_one_partition_per_table(engine: Engine) -> None:
    make(engine)
    engine.clock.advance(days=1)

    assert make(engine) == 2


def test_finished_tasks_are_stored_in_the_partition_of_their_day(engine: Engine) -> None:
    make(engine)
    for day in range(3):
        engine.clock.set(START + timedelta(days=day))
        engine.enqueue()
        engine.complete(engine.claim_one())

    query = "select relname from rolecall.finished_tasks as task join pg_class on pg_class.oid = task.tableoid order by finished_at"
    assert engine.rows(query) == [(f"finished_tasks_2026010{day}",) for day in (1, 2, 3)]


def test_tasks_of_a_day_without_a_partition_stay_in_the_default_partition(engine: Engine) -> None:
    engine.enqueue()
    engine.complete(engine.claim_one())

    assert make(engine, 1) == 3
    assert "finished_tasks_20260101" not in partitions(engine)
    assert engine.task(1).state == "completed"


def test_partition_days_are_utc_in_any_session_time_zone(engine: Engine) -> None:
    engine.rows("set timezone = 'Pacific/Kiritimati'")
    make(engine, 0)

    assert (
        engine.value(
            "select pg_get_expr(relpartbound, oid) from pg_class where oid = 'rolecall.finished_tasks_20260101'::regclass"
        ).count("2026-01-01 14:00:00+14")
        == 1
    )


def test_concurrent_calls_create_each_partition_once(engine: Engine, session: Session) -> None:
    sessions = [session() for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(make_in_use, sessions)) == 16


def test_insert_into_the_default_partition_does_not_break_partition_creation(stage: Stage) -> None:
    for play in stage.orders(2, 1):
        stage.engine.enqueue()
        claim = stage.engine.claim_one()

        _, [made] = play.run((opening(completing(claim)), commit), (make_in_use,))

        assert isinstance(made, int)
