"""The pages of capacity: the load of roles, the workers that they need, and a forecast for other numbers of workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Query, Response

from rolecall.model.operator.capacity import SECONDS, HourAhead, PlanRequest, RoleCapacity, RolePlan
from rolecall.web.dashboard.formats import brief, count, rate
from rolecall.web.dashboard.presenters.roles import capacity_table, hours_until_empty
from rolecall.web.dashboard.presenters.tables import AskedTable, SortedTable, TableQuery
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Reading, View

router = Pages()

WAITS = {60: "1 min", 300: "5 min", 900: "15 min", 3_600: "1 h"}
HORIZONS = {"for_1_hour": "1 h", "for_4_hours": "4 h", "for_8_hours": "8 h"}
LEAST_SCALE = 10
Workers = Annotated[int | None, Query(ge=0, le=1_000_000)]
TargetWait = Annotated[float, Query(gt=0, le=2_592_000, allow_inf_nan=False)]
Hours = Annotated[int, Query(ge=1, le=24)]


@router.get("/capacity")
async def show_capacity(
    view: Reading,
    table: AskedTable,
    role: str = "",
    workers: Workers = None,
    target_wait_s: TargetWait = 300,
    hours: Hours = 8,
) -> Response:
    """Show all roles, or one with its forecast, optionally for another number of workers."""
    if not role:
        parts = await view.read(table=_list_capacity(view, table))
        return view.page("capacity/list.html", hours_until_empty=hours_until_empty, **parts)
    question = PlanRequest(workers=workers, target_wait_s=target_wait_s, hours=hours)
    plan = await view.services.capacity.plan(role, question)
    return view.page(
        "capacity/role.html",
        plan=plan,
        hours=hours,
        horizons=HORIZONS,
        waits={int(target_wait_s): f"{target_wait_s:g} s", **WAITS},
        most=_scale(plan),
        basis=_basis(plan.capacity),
        forecast=_forecast(plan.forecast),
    )


async def _list_capacity(view: View, query: TableQuery) -> SortedTable[RoleCapacity]:
    return capacity_table(await view.services.capacity.list(), query)


def _scale(plan: RolePlan) -> int:
    """Return the upper end of the slider: twice the largest useful number."""
    numbers = [plan.workers_for_target_wait, *plan.workers_needed.values(), plan.active_workers]
    return max(plan.workers, 2 * max(number or 0 for number in numbers), LEAST_SCALE)


def _basis(capacity: RoleCapacity) -> str:
    per_worker = capacity.tasks_per_worker_hour
    if per_worker is None:
        return "not measured"
    if capacity.measured_seconds is None:
        return f"from the durations of {count(capacity.measured_runs)} runs"
    measured = rate(per_worker * capacity.active_workers / SECONDS)
    return f"measured: {measured} by all over {brief(capacity.measured_seconds)}"


def _forecast(hours: Sequence[HourAhead]) -> dict[str, Any]:
    lines: list[tuple[str, str, str, Sequence[float | None]]] = [
        ("backlog", "warn", "area", [hour.left_waiting for hour in hours]),
        ("completed", "good", "line", [hour.served for hour in hours]),
        ("becoming due", "accent", "line", [hour.becoming_due for hour in hours]),
        ("from schedules", "info", "line", [hour.scheduled for hour in hours]),
    ]
    return {
        "x": [hour.hour for hour in hours],
        "series": [
            {"label": label, "tone": tone, "kind": kind, "values": values} for label, tone, kind, values in lines
        ],
    }
