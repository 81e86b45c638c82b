"""The history counts each finish once per bin, whoever rolls up and however late a transaction commits."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from rolecall.model.operator.history import STORED
from rolecall.testing import Clock
from tests.sql.engine import START, Engine

ROLL_UP = "select rolecall.roll_up_history('0 s')"
SUMS = (
    "select sum(completed), sum(failed), sum(cancelled), sum(retried) from rolecall.history"
    " where role = %s and width = %s having count(*) > 0"
)


def roll_up(engine: Engine) -> None:
    while engine.value(ROLL_UP):
        pass


def begin(engine: Engine) -> None:
    """Start the history, complete up to now."""
    engine.rows("select rolecall.make_partitions(0)")
    roll_up(engine)


def sums(engine: Engine, width: int = 10, role: str = "") -> tuple[int, ...] | None:
    """Return the totals of completed, failed, cancelled and retried over all bins of a width."""
    rows = engine.rows(SUMS, role, width)
    return tuple(map(int, rows[0])) if rows else None


def finish(engine: Engine, number: int = 1, outcome: str = "completed", seconds: float = 0, **words: object) -> None:
    """Finish this many new tasks after some seconds of running."""
    engine.enqueue_many([{"role": "work", **words}] * number)
    claims = engine.claim(number)
    engine.clock.advance(seconds=seconds)
    reports = ({"id": claim.id, "fence": claim.fence, "outcome": outcome, "error": "no"} for claim in claims)
    engine.finish(claims[0].worker_id, *reports)


def history_column(engine: Engine, column: str, role: str | None = None, width: int = 10) -> list[Any]:
    """Return a column of the history, by bin."""
    query = f"select {column} from rolecall.history(%s, %s, 10, '-infinity')"
    return [value for (value,) in engine.rows(query, role, width)]


@pytest.fixture
def other(live_engine: Engine) -> Iterator[Engine]:
    """A session with an open transaction."""
    with psycopg.connect(live_engine.database) as connection:
        yield Engine(connection, Clock(live_engine.database), live_engine.database)


def test_finished_tasks_are_counted_by_bin_and_role(engine: Engine) -> None:
    engine.declare({"name": "other"})
    begin(engine)
    finish(engine, 3)
    engine.clock.advance(seconds=10)
    finish(engine, 2, role="other")
    finish(engine, outcome="failed", max_attempts=1)
    engine.cancel(engine.enqueue())
    engine.clock.advance(seconds=10)
    roll_up(engine)

    assert history_column(engine, "completed") == [3, 2]
    assert sums(engine) == (5, 1, 1, 0)
    assert sums(engine, role="work") == (3, 1, 1, 0)
    assert sums(engine, role="other") == (2, 0, 0, 0)


def test_repeated_roll_up_adds_nothing(engine: Engine) -> None:
    begin(engine)
    finish(engine, 3)
    for _ in range(3):
        engine.clock.advance(seconds=10)
        roll_up(engine)

    assert sums(engine) == (3, 0, 0, 0)


def test_tasks_of_a_transaction_that_commits_late_are_counted(live_engine: Engine, other: Engine) -> None:
    """The history ends before the oldest finish that can still be committed."""
    live_engine.enqueue()
    claim = live_engine.claim_one()
    other.complete(claim)
    # A bin can end between these two.
    [(began, finished)] = other.rows("select now(), finished_at from rolecall.finished_tasks")
    while live_engine.value("select clock_timestamp() < rolecall.begin_of_bin(10, %s) + interval '10.01 s'", finished):
        live_engine.rows("select pg_sleep(0.5)")
    roll_up(live_engine)
    assert live_engine.value("select moment <= %s from rolecall.history_until", began)

    other.connection.commit()
    roll_up(live_engine)

    assert sums(live_engine, role="work") == (1, 0, 0, 0)


def test_concurrent_roll_up_does_nothing(live_engine: Engine, other: Engine) -> None:
    begin(live_engine)
    other.rows("select * from rolecall.history_until for update")

    assert live_engine.value(ROLL_UP) is False


def test_failed_attempt_with_a_retry_is_counted_as_retried(engine: Engine) -> None:
    begin(engine)
    engine.enqueue()
    claim = engine.claim_one()
    engine.finish(claim.worker_id, {"id": claim.id, "fence": claim.fence, "outcome": "failed", "error": "no"})
    engine.clock.advance(seconds=60)
    engine.complete(engine.claim_one())
    finish(engine, outcome="failed", max_attempts=1)
    engine.clock.advance(seconds=10)
    roll_up(engine)

    assert sums(engine, role="work") == (1, 1, 0, 1)


def test_deleted_tasks_remain_in_the_history(engine: Engine) -> None:
    begin(engine)
    finish(engine, 2)
    engine.clock.advance(seconds=10)
    roll_up(engine)
    engine.delete_chains(*(task.id for task in engine.tasks()))

    assert sums(engine) == (2, 0, 0, 0)


def test_wide_bins_are_summed_from_narrow_ones_when_complete(engine: Engine) -> None:
    begin(engine)
    for _ in range(40):
        finish(engine, seconds=1)
        engine.clock.advance(seconds=199)
        roll_up(engine)
    total = sums(engine)
    assert total == (40, 0, 0, 0)
    assert sums(engine, 60) == total
    engine.clock.set(START + timedelta(hours=3))
    roll_up(engine)

    assert sums(engine, 600) == sums(engine, 3600) == total
    runs = "select run_counts from rolecall.history where role = '' and width = 3600 order by at"
    assert engine.rows(runs) == [([18],), ([18],), ([4],)]


@pytest.mark.parametrize("seed", [3, 7, 13])
def test_wide_view_is_completed_with_narrow_bins(engine: Engine, seed: int) -> None:
    """The sum of the bins always equals the number of finished tasks."""
    begin(engine)
    for _ in range(seed):
        finish(engine)
        engine.clock.advance(seconds=seed * 20 + 10)
        roll_up(engine)

    for width, source in ((30, 10), (180, 60), (600, 600), (7200, 3600)):
        rows = engine.rows("select sum(completed) from rolecall.history(null, %s, %s, '-infinity')", width, source)
        assert rows == [(seed,)]


def test_first_roll_up_covers_retained_tasks(engine: Engine) -> None:
    engine.rows("select rolecall.make_partitions(5)")
    for _ in range(5):
        finish(engine)
        engine.clock.advance(days=1)
    engine.clock.advance(seconds=10)
    roll_up(engine)

    assert sums(engine, 3600) == (5, 0, 0, 0)
    assert sums(engine, 10) is None or sums(engine, 10) == (0, 0, 0, 0)


def test_old_bins_are_deleted_by_width(engine: Engine) -> None:
    begin(engine)
    finish(engine, 2)
    engine.clock.advance(hours=1)
    roll_up(engine)
    engine.clock.advance(hours=3)
    engine.prune()
    assert (sums(engine, 10), sums(engine, 60), sums(engine, 3600)) == (None, (2, 0, 0, 0), (2, 0, 0, 0))

    engine.clock.advance(days=91)
    engine.prune()
    assert sums(engine, 3600) is None


def test_widths_and_retention_are_the_same_in_python(engine: Engine) -> None:
    tiers = engine.rows("select width, kept from rolecall.history_tiers()")

    assert dict(tiers) == STORED


def test_history_of_a_past_period_has_only_its_bins(engine: Engine) -> None:
    begin(engine)
    start = engine.clock.now()
    finish(engine, 2)
    engine.clock.advance(minutes=5)
    finish(engine, 3)
    engine.clock.advance(minutes=1)
    roll_up(engine)

    query = "select sum(completed) from rolecall.history(null, 60, 10, '-infinity', %s)"

    assert engine.value(query, start + timedelta(minutes=2)) == 2
    assert engine.value(query, None) == 5
