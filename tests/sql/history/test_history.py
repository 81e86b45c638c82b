"""The history of a role: waiting times, run times, and open tasks."""

from __future__ import annotations

import pytest

from tests.sql.engine import Engine
from tests.sql.history.test_roll_up import begin, finish, history_column, roll_up


def test_wait_is_measured_from_due_time_to_start(engine: Engine) -> None:
    begin(engine)
    engine.enqueue(after=60)
    engine.clock.advance(seconds=63)
    claim = engine.claim_one()
    engine.complete(claim)
    engine.clock.advance(seconds=10)
    roll_up(engine)

    assert history_column(engine, "longest_wait")[-1] == pytest.approx(3)


def test_run_time_is_measured_from_start_to_finish(engine: Engine) -> None:
    begin(engine)
    finish(engine, 4, seconds=2.5)
    engine.clock.advance(seconds=10)
    roll_up(engine)

    [(buckets, counts, longest)] = engine.rows(
        "select run_buckets, run_counts, longest_run from rolecall.history where role = 'work' and width = 10"
    )
    assert (counts, longest) == ([4], pytest.approx(2.5))
    assert buckets == [34]  # 10 a decade: 2.5 s lies between 10^(33/10) and 10^(34/10) ms


def test_open_tasks_are_counted_with_each_roll_up(engine: Engine) -> None:
    begin(engine)
    engine.enqueue_many([{"role": "work"}] * 5)
    engine.enqueue(after=60)
    engine.claim(2)
    engine.clock.advance(seconds=10)
    roll_up(engine)

    assert history_column(engine, "ready")[-1] == 3
    assert history_column(engine, "running", "work")[-1] == 2


def test_role_without_open_tasks_has_zero_ready(engine: Engine) -> None:
    engine.declare({"name": "other"})
    begin(engine)
    engine.enqueue()
    engine.clock.advance(seconds=10)
    roll_up(engine)

    assert history_column(engine, "ready", "other")[-1] == 0


def test_wider_bins_average_the_number_of_open_tasks(engine: Engine) -> None:
    begin(engine)
    for _ in range(6):
        engine.enqueue()
        engine.clock.advance(seconds=10)
        roll_up(engine)

    assert history_column(engine, "ready", width=60)[-1] == pytest.approx(3.5)


def test_histograms_of_merged_bins_are_added(engine: Engine) -> None:
    begin(engine)
    for seconds in (0.2, 0.2, 5):
        finish(engine, seconds=seconds)
        engine.clock.advance(seconds=10)
    roll_up(engine)

    assert history_column(engine, "run_counts", width=60)[-1] == [2, 1]


def test_time_before_a_release_is_not_counted_as_wait(engine: Engine) -> None:
    """A resumed parent waited for its children, and a released task has run."""
    begin(engine)
    engine.enqueue()
    claim = engine.claim_one()
    engine.release(claim)
    engine.clock.advance(seconds=500)
    engine.complete(engine.claim_one())
    engine.clock.advance(seconds=10)
    roll_up(engine)

    assert history_column(engine, "longest_wait")[-1] is None
