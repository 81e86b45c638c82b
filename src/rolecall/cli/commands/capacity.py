"""`rolecall capacity`, `replicas`, `scale` and `scale-target`: load, forecasts and scaling."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple
from math import floor, log10
from typing import Annotated

from typer import Argument, Option

from rolecall.cli.output import print_facts, print_table
from rolecall.cli.shell import Shell
from rolecall.cli.values import read_duration
from rolecall.model.operator.capacity import PlanRequest, RoleCapacity, RolePlan
from rolecall.model.operator.scaling import Replicas, Scaled

COLUMNS = (
    "role",
    "pending",
    "ready",
    "running",
    "workers",
    "claimed/h",
    "completed/h",
    "failed/h",
    "per worker-hour",
    "hours to drain",
    "arrived/h",
    "waiting s",
)
AHEAD = ("hour", "becoming due", "scheduled", "arriving", "served", "left waiting")


def capacity(
    shell: Shell,
    role: Annotated[str | None, Argument(help="Only this role, with the number of workers it needs.")] = None,
    *,
    workers: Annotated[int | None, Option(help="Plan with this many workers for the role.")] = None,
    target_wait: Annotated[
        str | None, Option(metavar="DURATION", help="The longest acceptable wait of its tasks: 90, 15m, 1h.")
    ] = None,
    hours: Annotated[int, Option(help="How many hours to forecast.")] = 8,
) -> None:
    if role is None:
        found = shell.call(lambda services: services.capacity.list())
        shell.show(found, lambda: print_table(COLUMNS, map(_row, found), "no roles"))
        return
    seconds = None if target_wait is None else read_duration(target_wait, "--target-wait")
    question = PlanRequest(workers=workers, target_wait_s=seconds, hours=hours)
    plan = shell.call(lambda services: services.capacity.plan(role, question))
    shell.show(plan, lambda: _print(plan))


def _row(capacity: RoleCapacity) -> tuple[object, ...]:
    *figures, rate, hours, arrived, _runs, waited, _paused, _seconds = astuple(capacity)
    return (*figures, _rounded(rate), _rounded(hours), arrived, _rounded(waited))


def _print(plan: RolePlan) -> None:
    print_facts(_facts(plan))
    print_table(AHEAD, map(astuple, plan.forecast), "no hours")


def _facts(plan: RolePlan) -> Iterator[tuple[str, object]]:
    capacity = plan.capacity
    yield "role", plan.role
    yield "pending tasks", plan.pending_tasks
    yield "active workers", plan.active_workers
    yield "tasks per worker-hour", _rate(capacity)
    for when, number in plan.workers_needed.items():
        yield f"workers needed {when.replace('_', ' ')}", number
    yield "workers needed for the target wait", plan.workers_for_target_wait
    yield "planned workers", plan.workers
    yield "arrivals per hour", _rounded(plan.arrival_rate)
    yield "served per hour", _rounded(plan.service_rate)
    yield "hours to drain", _rounded(plan.estimated_hours_to_drain)
    yield "hours with arrivals", _rounded(plan.hours_with_arrivals) if plan.drains == "drains" else plan.drains
    yield "oldest waiting s", _rounded(capacity.oldest_waiting_seconds)
    if past := plan.look_back:
        yield "forecast an hour ago", f"{past.forecast_waiting:.0f} ready tasks now; there are {past.waiting}"


def _rate(capacity: RoleCapacity) -> str:
    if capacity.tasks_per_worker_hour is None:
        return "unknown: no task finished in the last hour"
    if capacity.measured_seconds is not None:
        return f"{_rounded(capacity.tasks_per_worker_hour)}, measured over {capacity.measured_seconds:.0f} s"
    return f"{_rounded(capacity.tasks_per_worker_hour)}, from the durations of {capacity.measured_runs} runs"


def _rounded(number: float | None) -> float | None:
    """Round to three significant digits, but never to more than a whole number."""
    if not number:
        return number
    rounded = round(number, max(0, 2 - floor(log10(number))))
    return int(rounded) if rounded.is_integer() else rounded


def replicas(shell: Shell) -> None:
    found = shell.call(lambda services: services.scaling.replicas())
    shell.show(found, lambda: print_facts(_facts_of_replicas(found)))


def scale(shell: Shell, number: Annotated[int, Argument(min=0, metavar="N", help="The number of pods.")]) -> None:
    scaled = shell.call(lambda services: services.scaling.scale(number))
    shell.show(scaled, lambda: print_facts(_facts_of_change(scaled)))


def scale_target(shell: Shell, role: str) -> None:
    target = shell.call(lambda services: services.scaling.target(role))
    shell.show(target, lambda: print_facts([("role", target.role), ("target", target.target)]))


def _facts_of_replicas(found: Replicas) -> list[tuple[str, object]]:
    return [
        ("set", f"{found.kind} {found.namespace}/{found.name}"),
        ("current", found.current),
        ("desired", found.desired),
        ("ready", found.ready),
        ("bounds", f"{found.least} to {found.most}"),
    ]


def _facts_of_change(scaled: Scaled) -> list[tuple[str, object]]:
    return [
        ("desired", f"{scaled.desired}, was {scaled.previous}"),
        ("leaving", ", ".join(scaled.leaving) or None),
        ("not marked", scaled.unmarked),
    ]
