"""Schedules: what runs when, what became of it, and the switches that need no form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Annotated

from fastapi import Query, Response

from rolecall.model.errors import InvalidSchedule
from rolecall.model.insight import TaskFilter
from rolecall.model.schedules import PlannedRun, StoredSchedule
from rolecall.model.tasks import TaskSummary
from rolecall.web.dashboard.drawing.time_line import HOURS, time_line
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.telling.clock_changes import in_zone, next_clock_change, offset_of
from rolecall.web.dashboard.view import Operating, Reading, View
from rolecall.web.parameters import Cursor, PathId, SearchText

router = Pages()

RUNS_A_PAGE = 25
Preview = Annotated[int, Query(ge=1, le=200)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRun:
    """A run to come: as the schedule's own clocks show it, and by how many seconds they were changed before it."""

    slot: datetime
    due_at: datetime
    local: str
    clock_change: float


@router.get("/schedules")
async def show_schedules(view: Reading, q: SearchText = "") -> Response:
    """Show all schedules, and what they bring within the next day."""
    schedules = [each for each in await view.services.schedules.list() if _matches(each, q)]
    lines = None
    if view.wants("time-line"):
        lines = time_line(schedules, await view.services.schedules.ahead(HOURS), datetime.now(UTC))
    tasks = await _tasks(view, [schedule.last_task_id for schedule in schedules])
    return view.page("schedules/list.html", schedules=schedules, lines=lines, tasks=tasks, q=q)


@router.get("/schedules/{schedule_id:int}")
async def show_schedule(view: Reading, schedule_id: PathId, cursor: Cursor = None, preview: Preview = 10) -> Response:
    """Show one schedule: what it enqueues, when it runs next, what became of its runs."""
    services = view.services.schedules
    schedule = await services.get(schedule_id)
    runs = await services.runs(schedule_id, cursor=cursor, limit=RUNS_A_PAGE)
    return view.page(
        "schedules/one.html",
        schedule=schedule,
        outcomes=await services.outcomes(schedule_id),
        planned=await _planned(view, schedule, preview),
        preview=preview,
        change=next_clock_change(schedule.zone, datetime.now(UTC)) if schedule.cron else None,
        runs=runs,
        tasks=await _tasks(view, [run.task_id for run in runs.items]),
        cursor=cursor,
    )


@router.post("/schedules/{schedule_id:int}/enable")
async def enable_schedule(view: Operating, schedule_id: PathId) -> Response:
    """Let it fire."""
    schedule = await view.services.schedules.enable(schedule_id)
    return view.done(f"Schedule {schedule.name} is enabled")


@router.post("/schedules/{schedule_id:int}/disable")
async def disable_schedule(view: Operating, schedule_id: PathId) -> Response:
    """Keep it from firing."""
    schedule = await view.services.schedules.disable(schedule_id)
    return view.done(f"Schedule {schedule.name} is disabled")


@router.post("/schedules/{schedule_id:int}/trigger")
async def run_schedule(view: Operating, schedule_id: PathId) -> Response:
    """Run it now; while the task of its last run is open, that one stands for it."""
    before = await view.services.schedules.get(schedule_id)
    task_id = await view.services.schedules.trigger(schedule_id)
    if task_id == before.last_task_id:
        return view.done(f"The last run of {before.name} is still open: task {task_id} stands for it, and is due now")
    return view.done(f"Schedule {before.name} runs now, as task {task_id}")


async def _planned(view: View, schedule: StoredSchedule, number: int) -> list[ShownRun]:
    try:
        return _shown(schedule, await view.services.schedules.preview(schedule.id, number))
    except InvalidSchedule:
        return []  # its zone is gone, or its expression is none any more: its last error tells


def _shown(schedule: StoredSchedule, planned: Sequence[PlannedRun]) -> list[ShownRun]:
    moments = [datetime.now(UTC), *(run.slot for run in planned)]
    changes = [
        (offset_of(later, schedule.zone) - offset_of(earlier, schedule.zone)).total_seconds()
        for earlier, later in pairwise(moments)
    ]
    return [
        ShownRun(slot=run.slot, due_at=run.due_at, local=in_zone(run.slot, schedule.zone), clock_change=change)
        for run, change in zip(planned, changes, strict=True)
    ]


async def _tasks(view: View, ids: Sequence[int | None]) -> Mapping[int, TaskSummary]:
    wanted = sorted({task_id for task_id in ids if task_id is not None})
    if not wanted:
        return {}
    page = await view.services.tasks.list(TaskFilter(ids=wanted, limit=min(len(wanted), 500)))
    return {task.id: task for task in page.items}


def _matches(schedule: StoredSchedule, text: str) -> bool:
    return text.strip().lower() in f"{schedule.name} {schedule.handler} {schedule.role} {schedule.key or ''}".lower()
