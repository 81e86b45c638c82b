"""The load of a role, the throughput of its workers, and how many workers it needs. Pure arithmetic.

    waiting ──▶ ┌─────────┐ ──▶ done       rate          measured tasks per hour of one worker
    arrivals ─▶ │ workers │                service rate  rate x workers
                └─────────┘                needed        waiting tasks / (rate x hours), rounded up

A result is None if it would need a rate that was not measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

from rolecall.model.operator.history import History, HistoryPoint

HORIZONS = (1, 4, 8)
SECONDS = 3_600
MEASURED_SECONDS = 600
# Rounds off the error of summed durations, in tasks.
DIGITS = 6

Drains = Literal["drains", "never", "unknown"]


@dataclass(frozen=True, slots=True)
class RoleCapacity:
    """The load of a role and the throughput of its workers; rates are None if nothing was measured.

    `tasks_per_worker_hour` is the rate of an active worker, which may serve other roles as well. If tasks have been
    waiting, it is the rate at which attempts ended within the last `measured_seconds` (60 to 600). Otherwise,
    `measured_seconds` is None, and the rate is computed from the durations of `measured_runs` attempts of the last hour
    and the part of its slots that a worker has for the role. `estimated_hours_to_drain` ignores new arrivals. Draining
    workers do not count as active.
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
    measured_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """The assumptions of a plan: a number of workers (None: the active ones), a target wait, and the hours to
    forecast.
    """

    workers: int | None = None
    target_wait_s: float | None = None
    hours: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class HourAhead:
    """The forecast of one hour; `hour` 1 is the first.

    `becoming_due` counts stored tasks that become due, `scheduled` tasks of schedules, and `arriving` other arrivals.
    `served` is what the workers can run, and `left_waiting` what remains at the end of the hour.
    """

    hour: int
    becoming_due: int
    scheduled: int
    arriving: float
    served: float | None
    left_waiting: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LookBack:
    """The forecast of an hour ago for the present, and what happened.

    `forecast_waiting` tasks would wait now at the rates of that time, in tasks per hour; `waiting` do.
    """

    waited_then: float
    arrival_rate: float
    service_rate: float
    forecast_waiting: float
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RolePlan:
    """The workers that a role needs, and a forecast for `workers` workers (the active ones or those of the question).

    `arrival_rate` and `service_rate` are in tasks per hour. `drains` states whether the workers empty the queue in
    spite of new arrivals, and `hours_with_arrivals` how long that takes. With `workers_for_target_wait` workers no
    task waits longer than `target_wait_s` and the queue does not grow. `look_back` is None if the history is too short.
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
    look_back: LookBack | None


def workers_needed(pending: int, tasks_per_worker_hour: float | None, hours: float) -> int | None:
    """Return the number of workers that run `pending` tasks within `hours`; None without a rate, unless nothing is
    pending.
    """
    if pending == 0:
        return 0
    return _whole(pending / (tasks_per_worker_hour * hours)) if tasks_per_worker_hour else None


def workers_for_wait(capacity: RoleCapacity, seconds: float) -> int | None:
    """Return the number of workers with which a new task starts within `seconds` and the queue does not grow."""
    rate = capacity.tasks_per_worker_hour
    at_once = workers_needed(capacity.ready_tasks, rate, seconds / SECONDS)
    lasting = workers_needed(capacity.arrived_last_hour, rate, 1)
    return None if at_once is None or lasting is None else max(at_once, lasting)


def hours_with_arrivals(pending: int, arrival_rate: float, service_rate: float | None) -> tuple[Drains, float | None]:
    """Return whether the workers empty the queue in spite of new arrivals, and in how many hours."""
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
    """Forecast the queue hour by hour.

    `due` and `scheduled` are the tasks that become due and those of schedules, by hour; `arriving` is the number of
    other arrivals per hour.
    """
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


def look_back(past: History, waiting: int) -> LookBack | None:
    """Compare the forecast of an hour ago with the tasks that wait now; the history must cover two hours."""
    hour = SECONDS // past.step_seconds
    before, then = past.points[:hour], past.points[hour : hour + 1]
    if not then or (begin := before[0].ready_tasks) is None or (waited := then[0].ready_tasks) is None:
        return None
    ended = [_ended(point) for point in before]
    recent = ended[-(MEASURED_SECONDS // past.step_seconds) :]
    arrivals = max(0.0, sum(ended) + waited - begin)
    service = sum(recent) * SECONDS / (len(recent) * past.step_seconds)
    return LookBack(
        waited_then=waited,
        arrival_rate=arrivals,
        service_rate=service,
        forecast_waiting=max(0.0, waited + arrivals - service),
        waiting=waiting,
    )


def plan(
    capacity: RoleCapacity,
    question: PlanRequest,
    *,
    due: Sequence[int],
    scheduled: Sequence[int],
    routine: int,
    past: LookBack | None = None,
) -> RolePlan:
    """Plan the workers of one role.

    `routine` is the part of the last hour's arrivals that came from schedules.
    """
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
        look_back=past,
    )


def _service_rate(rate: float | None, workers: int) -> float | None:
    if workers == 0:
        return 0.0
    return None if rate is None else rate * workers


def _ended(point: HistoryPoint) -> int:
    return sum(number or 0 for number in (point.completed, point.failed, point.cancelled))


def _whole(workers: float) -> int:
    return ceil(round(workers, DIGITS))


def _horizon(hours: int) -> str:
    return "for_1_hour" if hours == 1 else f"for_{hours}_hours"
