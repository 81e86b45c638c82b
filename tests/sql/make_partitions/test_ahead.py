"""Partitions are created in advance, one per day."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from tests.sql.conftest import Session
from tests.sql.engine import START, Claim, Engine
from tests.sql.insisting import MAKE_PARTITIONS, insist
from tests.sql.interleavings.stage import Stage, Step, commit, opening


def make(engine: Engine, days: int = 7) -> int:
    made: int = engine.value("select rolecall.make_partitions(%s)", days)
    return made


def make_in_use(engine: Engine) -> int:
    """Create partitions while others use the tables."""
    return insist(engine, MAKE_PARTITIONS)


def partitions(engine: Engine, parent: str = "finished_tasks") -> list[str]:
    query = (
        "select inhrelid::regclass::text from pg_inherits where inhparent = ('rolecall.' || %s)::regclass order by 1"
    )
    return [str(name).removeprefix("rolecall.") for (name,) in engine.rows(query, parent)]


def completing(claim: Claim) -> Step:
    return lambda engine: engine.complete(claim)


def test_today_and_the_days_ahead_have_partitions(engine: Engine) -> None:
    assert make(engine, 2) == 6

    for parent in ("finished_tasks", "task_events"):
        days = [f"{parent}_2026010{day}" for day in (1, 2, 3)]
        assert partitions(engine, parent) == [*days, f"{parent}_default"]


def test_made_twice_is_made_once(engine: Engine) -> None:
    make(engine)

    assert make(engine) == 0


def test_each_day_adds_one(engine: Engine) -> None:
    make(engine)
    engine.clock.advance(days=1)

    assert make(engine) == 2


def test_what_finishes_goes_into_the_partition_of_its_day(engine: Engine) -> None:
    make(engine)
    for day in range(3):
        engine.clock.set(START + timedelta(days=day))
        engine.enqueue()
        engine.complete(engine.claim_one())

    query = "select relname from rolecall.finished_tasks as task join pg_class on pg_class.oid = task.tableoid order by finished_at"
    assert engine.rows(query) == [(f"finished_tasks_2026010{day}",) for day in (1, 2, 3)]


def test_a_day_without_a_partition_goes_into_the_net_and_stays_there(engine: Engine) -> None:
    engine.enqueue()
    engine.complete(engine.claim_one())

    assert make(engine, 1) == 3
    assert "finished_tasks_20260101" not in partitions(engine)
    assert engine.task(1).state == "completed"


def test_days_are_utc_whatever_the_session_says(engine: Engine) -> None:
    engine.rows("set timezone = 'Pacific/Kiritimati'")
    make(engine, 0)

    assert (
        engine.value(
            "select pg_get_expr(relpartbound, oid) from pg_class where oid = 'rolecall.finished_tasks_20260101'::regclass"
        ).count("2026-01-01 14:00:00+14")
        == 1
    )


def test_makers_at_the_same_moment_do_not_stumble(engine: Engine, session: Session) -> None:
    sessions = [session() for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(make_in_use, sessions)) == 16


def test_a_row_on_its_way_into_the_default_partition_is_waited_for(stage: Stage) -> None:
    for play in stage.orders(2, 1):
        stage.engine.enqueue()
        claim = stage.engine.claim_one()

        _, [made] = play.run((opening(completing(claim)), commit), (make_in_use,))

        assert isinstance(made, int)
