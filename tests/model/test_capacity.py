"""Capacity planning: workers needed, time to drain, and the forecast by hour."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from rolecall.model.operator.capacity import (
    PlanRequest,
    RoleCapacity,
    hours_with_arrivals,
    look_ahead,
    look_back,
    plan,
    workers_for_wait,
    workers_needed,
)
from rolecall.model.operator.history import History, HistoryPoint

BUSY = RoleCapacity(
    role="work",
    pending_tasks=500,
    ready_tasks=400,
    running_tasks=2,
    active_workers=2,
    claimed_last_hour=100,
    completed_last_hour=100,
    failed_last_hour=0,
    tasks_per_worker_hour=50.0,
    estimated_hours_to_drain=5.0,
    arrived_last_hour=120,
    measured_runs=100,
    oldest_waiting_seconds=60.0,
    paused=False,
    measured_seconds=None,
)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
UNKNOWN = replace(BUSY, tasks_per_worker_hour=None, estimated_hours_to_drain=None, measured_runs=0)


@pytest.mark.parametrize(("hours", "needed"), [(1, 10), (4, 3), (8, 2)])
@pytest.mark.parametrize("rate", [50.0, 49.999999999, 50.000000001])
def test_500_tasks_at_50_an_hour_need_10_3_and_2_workers(hours: float, needed: int, rate: float) -> None:
    """The result does not depend on how the measured durations were rounded."""
    assert workers_needed(500, rate, hours) == needed


def test_no_tasks_need_no_workers_at_any_rate() -> None:
    assert workers_needed(0, None, 1) == 0


def test_workers_needed_are_unknown_without_a_rate() -> None:
    assert workers_needed(1, None, 1) is None


@pytest.mark.parametrize(
    ("pending", "arriving", "served", "answer"),
    [
        (500, 0, 100, ("drains", 5)),
        (500, 50, 100, ("drains", 10)),
        (500, 100, 100, ("never", None)),
        (0, 120, 100, ("never", None)),
        (0, 0, None, ("drains", 0)),
        (500, 0, 0, ("never", None)),
        (500, 10, None, ("unknown", None)),
    ],
)
def test_queue_drains_only_if_service_rate_exceeds_arrivals(
    pending: int, arriving: float, served: float | None, answer: tuple[str, float | None]
) -> None:
    assert hours_with_arrivals(pending, arriving, served) == answer


@pytest.mark.parametrize(("seconds", "needed"), [(360, 80), (3_600, 8), (36_000, 3)])
def test_target_wait_needs_workers_for_due_tasks_and_for_arrivals(seconds: float, needed: int) -> None:
    """The need is at least the number of workers that 120 arrivals an hour keep busy."""
    assert workers_for_wait(BUSY, seconds) == needed


def test_target_wait_without_a_rate_is_unknown_if_tasks_exist() -> None:
    assert workers_for_wait(UNKNOWN, 60) is None
    assert workers_for_wait(replace(UNKNOWN, ready_tasks=0, arrived_last_hour=0), 60) == 0


def test_forecast_adds_arrivals_and_subtracts_served_tasks_each_hour() -> None:
    first, second, third = look_ahead(100, [0, 200, 0], [10, 0, 0], 5.0, 120.0)

    assert (first.served, first.left_waiting) == (115.0, 0.0)
    assert (second.served, second.left_waiting) == (120.0, 85.0)
    assert (third.hour, third.left_waiting) == (3, 0.0)


def test_forecast_without_a_rate_contains_arrivals_only() -> None:
    [hour] = look_ahead(100, [7], [1], 5.0, None)

    assert (hour.becoming_due, hour.scheduled, hour.arriving) == (7, 1, 5.0)
    assert (hour.served, hour.left_waiting) == (None, None)


def test_question_about_other_workers_is_answered_for_that_number() -> None:
    now = plan(BUSY, PlanRequest(), due=[0], scheduled=[0], routine=0)
    then = plan(BUSY, PlanRequest(workers=12), due=[0], scheduled=[0], routine=0)

    assert (now.workers, now.service_rate, now.drains) == (2, 100.0, "never")
    assert (then.workers, then.service_rate, then.drains) == (12, 600.0, "drains")
    assert then.estimated_hours_to_drain == pytest.approx(5 / 6)
    assert then.hours_with_arrivals == pytest.approx(500 / 480)
    assert then.workers_needed == now.workers_needed == {"for_1_hour": 10, "for_4_hours": 3, "for_8_hours": 2}


def test_zero_workers_serve_nothing_even_if_the_rate_is_unknown() -> None:
    found = plan(UNKNOWN, PlanRequest(workers=0), due=[0], scheduled=[0], routine=0)

    assert (found.service_rate, found.drains, found.estimated_hours_to_drain) == (0.0, "never", None)


def test_tasks_of_schedules_are_not_counted_as_arrivals_again() -> None:
    found = plan(BUSY, PlanRequest(), due=[0], scheduled=[60], routine=60)

    assert (found.forecast[0].scheduled, found.forecast[0].arriving) == (60, 60.0)


def history(*points: tuple[int, float | None]) -> History:
    """Return points of ten minutes: the tasks that completed within each, and the average of ready tasks."""
    step = timedelta(minutes=10)
    return History(
        role="work",
        step_seconds=600,
        since=NOON,
        until=NOON + len(points) * step,
        points=[
            HistoryPoint(
                at=NOON + index * step,
                seconds=600,
                completed=completed,
                failed=0,
                cancelled=0,
                retried=0,
                waiting=None,
                running=None,
                ready_tasks=ready,
                running_tasks=None,
            )
            for index, (completed, ready) in enumerate(points)
        ],
    )


def test_forecast_of_an_hour_ago_uses_the_rates_of_that_time() -> None:
    """In the first hour 300 arrived and 100 finished, at last 20 in ten minutes."""
    past = look_back(history((0, 0), *[(20, 100)] * 5, (30, 200), *[(99, 0)] * 5), 250)

    assert past
    assert (past.waited_then, past.arrival_rate, past.service_rate) == (200, 300, 120)
    assert (past.forecast_waiting, past.waiting) == (380, 250)


@pytest.mark.parametrize("points", [[(0, 0)] * 6, [(0, None), *[(0, 0)] * 11], [*[(0, 0)] * 6, (0, None)]])
def test_forecast_of_an_hour_ago_is_unknown_without_its_history(points: list[tuple[int, float | None]]) -> None:
    assert look_back(history(*points), 0) is None
