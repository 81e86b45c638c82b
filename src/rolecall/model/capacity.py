"""What a role has to do, what its workers manage, and what follows from both: pure arithmetic.

    waiting ──▶ ┌─────────┐ ──▶ done       rate          tasks that one worker does in an hour, measured
    arrivals ─▶ │ workers │                service rate  rate x workers
                └─────────┘                needed        what waits / (rate x hours), rounded up

Where nothing was measured the answer is None, never a guess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

__all__ = [
    "CapacityQuestion",
    "HourAhead",
    "RoleCapacity",
    "RolePlan",
    "hours_with_arrivals",
    "look_ahead",
    "plan",
    "workers_for_wait",
    "workers_needed",
]

HORIZONS = (1, 4, 8)
SECONDS = 3_600
# What a sum of measured durations may be off by, in tasks.
DIGITS = 6

Drains = Literal["drains", "never", "unknown"]


@dataclass(frozen=True, slots=True)
class RoleCapacity:
    """What a role has to do and what its workers manage; rates are None while nothing was measured.

    `tasks_per_worker_hour` is that of a worker that does nothing else, with as many slots as the active workers
    have on average, from `measured_runs` ends of handlers within the last hour. `estimated_hours_to_drain` leaves
    out what arrives meanwhile. Workers that were told to take no more are not active.
    """

    role: str
    pending_tasks: int
    ready_tasks: int
    running_tasks: int
    active_workers: int
    claimed_last_hour: int
    completed_last_hour: int
    failed_last_hour: int
    tasks_per_worker_hour: float | None
    estimated_hours_to_drain: float | None
    arrived_last_hour: int
    measured_runs: int
    oldest_waiting_seconds: float | None
    paused: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityQuestion:
    """What to reckon with: so many workers instead of those that are active, a wait to aim at, hours to look ahead."""

    workers: int | None = None
    target_wait_s: float | None = None
    hours: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class HourAhead:
    """One hour to come, 1 for the first: what becomes due, what schedules enqueue, what arrives besides, what the
    workers could do, and what is left waiting at its end.
    """

    hour: int
    becoming_due: int
    scheduled: int
    arriving: float
    served: float | None
    left_waiting: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RolePlan:
    """What a role needs. `workers` is what was reckoned with: the active ones, or those of the question.

    `arrival_rate` and `service_rate` are tasks an hour. `drains` says whether the workers get through what waits
    while more arrives, and `hours_with_arrivals` when. `workers_for_target_wait` lets nobody wait longer than
    `target_wait_s`, and the queue not grow.
    """

    role: str
    pending_tasks: int
    active_workers: int
    workers_needed: Mapping[str, int | None]
    workers: int
    arrival_rate: float
    service_rate: float | None
    estimated_hours_to_drain: float | None
    drains: Drains
    hours_with_arrivals: float | None
    target_wait_s: float | None
    workers_for_target_wait: int | None
    capacity: RoleCapacity
    forecast: Sequence[HourAhead]


def workers_needed(pending: int, tasks_per_worker_hour: float | None, hours: float) -> int | None:
    """Workers that drain `pending` tasks within `hours`; None where a rate is missing and there is work."""
    if pending == 0:
        return 0
    return _whole(pending / (tasks_per_worker_hour * hours)) if tasks_per_worker_hour else None


def workers_for_wait(capacity: RoleCapacity, seconds: float) -> int | None:
    """Workers with which a task that comes now begins within `seconds`, and the queue does not grow."""
    rate = capacity.tasks_per_worker_hour
    at_once = workers_needed(capacity.ready_tasks, rate, seconds / SECONDS)
    lasting = workers_needed(capacity.arrived_last_hour, rate, 1)
    return None if at_once is None or lasting is None else max(at_once, lasting)


def hours_with_arrivals(pending: int, arrival_rate: float, service_rate: float | None) -> tuple[Drains, float | None]:
    """Whether, and when, the workers get through what waits while more arrives."""
    if pending == 0 and not arrival_rate:
        return "drains", 0.0
    if service_rate is None:
        return "unknown", None
    if service_rate <= arrival_rate:
        return "never", None
    return "drains", pending / (service_rate - arrival_rate)


def look_ahead(
    waiting: int, due: Sequence[int], scheduled: Sequence[int], arriving: float, service_rate: float | None
) -> list[HourAhead]:
    """Hour by hour, what is left waiting: `due` and `scheduled` say what comes in which, `arriving` what besides."""
    hours = []
    left: float | None = float(waiting)
    for number, (becoming_due, planned) in enumerate(zip(due, scheduled, strict=True), 1):
        there = None if left is None else left + becoming_due + planned + arriving
        left = None if there is None or service_rate is None else max(0.0, there - service_rate)
        hours.append(
            HourAhead(
                hour=number,
                becoming_due=becoming_due,
                scheduled=planned,
                arriving=arriving,
                served=None if there is None or left is None else there - left,
                left_waiting=left,
            )
        )
    return hours


def plan(
    capacity: RoleCapacity, question: CapacityQuestion, *, due: Sequence[int], scheduled: Sequence[int], routine: int
) -> RolePlan:
    """Answer a question about one role; `routine` is how much of the last hour's arrivals schedules brought."""
    pending, rate = capacity.pending_tasks, capacity.tasks_per_worker_hour
    workers = capacity.active_workers if question.workers is None else question.workers
    arrivals = float(capacity.arrived_last_hour)
    service = _service_rate(rate, workers)
    drains, hours = hours_with_arrivals(pending, arrivals, service)
    target = question.target_wait_s
    return RolePlan(
        role=capacity.role,
        pending_tasks=pending,
        active_workers=capacity.active_workers,
        workers_needed={_horizon(hours): workers_needed(pending, rate, hours) for hours in HORIZONS},
        workers=workers,
        arrival_rate=arrivals,
        service_rate=service,
        estimated_hours_to_drain=0.0 if pending == 0 else pending / service if service else None,
        drains=drains,
        hours_with_arrivals=hours,
        target_wait_s=target,
        workers_for_target_wait=None if target is None else workers_for_wait(capacity, target),
        capacity=capacity,
        forecast=look_ahead(capacity.ready_tasks, due, scheduled, max(0.0, arrivals - routine), service),
    )


def _service_rate(rate: float | None, workers: int) -> float | None:
    if workers == 0:
        return 0.0
    return None if rate is None else rate * workers


def _whole(workers: float) -> int:
    return ceil(round(workers, DIGITS))


def _horizon(hours: int) -> str:
    return "for_1_hour" if hours == 1 else f"for_{hours}_hours"
