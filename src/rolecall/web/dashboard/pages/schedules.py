"""The pages of schedules: a list with the next runs, one schedule with its history, and the form.

The form creates or changes a schedule, and explains the interval or cron expression while it is typed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from typing import Annotated

from fastapi import Query, Response

from rolecall.maintenance.cron import Cron, check_schedule
from rolecall.model.durations import read_duration
from rolecall.model.error_table import http_status_for
from rolecall.model.errors import InvalidSchedule, RolecallError, ScheduleChanged
from rolecall.model.operator.insight import TaskFilter
from rolecall.model.schedules import PlannedRun, Schedule, StoredSchedule
from rolecall.model.tasks import TaskSummary
from rolecall.model.zones import known_zones
from rolecall.web.dashboard.drawing.time_line import HOURS, TimeLine, time_line
from rolecall.web.dashboard.forms.schedule_form import NEW, ScheduleForm, to_texts
from rolecall.web.dashboard.parts import is_late
from rolecall.web.dashboard.presenters.clock_changes import in_zone, next_clock_change, offset_of
from rolecall.web.dashboard.presenters.lists import ListPage, PageNumber, page_of
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Administering, Operating, Reading, View
from rolecall.web.fields.parameters import Cursor, PathId, SearchText

router = Pages()

ROWS_A_PAGE = 25
EXPLAINED = 5


Preview = Annotated[int, Query(ge=1, le=200)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRun:
    """A planned run: its local time, and the clock change in seconds since the previous run."""

    slot: datetime
    due_at: datetime
    local: str
    clock_change: float


@router.get("/schedules")
async def show_schedules(view: Reading, q: SearchText = "", page: PageNumber = 1) -> Response:
    """Show all schedules and their runs of the next day."""
    shown = (await view.read(page=_find_schedules(view, q, page)))["page"]
    known = () if is_late(shown) else shown.items
    parts = await view.read(
        lines=_line_up(view, known), tasks=_tasks(view, [schedule.last_task_id for schedule in known])
    )
    return view.page("schedules/list.html", page=shown, has_lines=bool(known), q=q, **parts)


async def _find_schedules(view: View, q: str, page: int) -> ListPage[StoredSchedule]:
    return page_of([each for each in await view.services.schedules.list() if _matches(each, q)], page, ROWS_A_PAGE)


async def _line_up(view: View, schedules: Sequence[StoredSchedule]) -> TimeLine | None:
    if not schedules or not view.wants("time-line"):
        return None
    return time_line(schedules, await view.services.schedules.ahead(HOURS), datetime.now(UTC))


@router.get("/schedules/{schedule_id:int}")
async def show_schedule(view: Reading, schedule_id: PathId, cursor: Cursor = None, preview: Preview = 10) -> Response:
    """Show one schedule: its task, its next runs and its history."""
    services = view.services.schedules
    schedule = await services.get(schedule_id)
    parts = await view.read(
        outcomes=services.outcomes(schedule_id),
        planned=_read_planned(view, schedule, preview),
        runs=services.runs(schedule_id, cursor=cursor, limit=ROWS_A_PAGE),
    )
    runs = parts["runs"]
    return view.page(
        "schedules/one.html",
        schedule=schedule,
        preview=preview,
        change=next_clock_change(schedule.zone, datetime.now(UTC)) if schedule.cron else None,
        cursor=cursor,
        **parts,
        **await view.read(tasks=_tasks(view, () if is_late(runs) else [run.task_id for run in runs.items])),
    )


@router.post("/schedules/{schedule_id:int}/enable")
async def enable_schedule(view: Operating, schedule_id: PathId) -> Response:
    """Enable a schedule."""
    schedule = await view.services.schedules.enable(schedule_id)
    return view.done(f"Schedule {schedule.name} is enabled")


@router.post("/schedules/{schedule_id:int}/disable")
async def disable_schedule(view: Operating, schedule_id: PathId) -> Response:
    """Disable a schedule."""
    schedule = await view.services.schedules.disable(schedule_id)
    return view.done(f"Schedule {schedule.name} is disabled")


@router.post("/schedules/{schedule_id:int}/trigger")
async def run_schedule(view: Operating, schedule_id: PathId) -> Response:
    """Run a schedule now. If the task of its last run is open, make that one due."""
    before = await view.services.schedules.get(schedule_id)
    task_id = await view.services.schedules.trigger(schedule_id)
    if task_id == before.last_task_id:
        return view.done(f"The task of the last run of {before.name} is still open: task {task_id} is now due")
    return view.done(f"Schedule {before.name} runs now, as task {task_id}")


async def _read_planned(view: View, schedule: StoredSchedule, number: int) -> list[ShownRun]:
    try:
        return _view_of(schedule, await view.services.schedules.preview(schedule.id, number))
    except InvalidSchedule:
        return []  # its zone or its expression is invalid: the last error is shown


def _view_of(schedule: StoredSchedule, planned: Sequence[PlannedRun]) -> list[ShownRun]:
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
    known = sorted({task_id for task_id in ids if task_id is not None})
    if not known:
        return {}
    page = await view.services.tasks.list(TaskFilter(ids=known, limit=min(len(known), 500)))
    return {task.id: task for task in page.items}


def _matches(schedule: StoredSchedule, text: str) -> bool:
    return text.strip().lower() in f"{schedule.name} {schedule.handler} {schedule.role} {schedule.key or ''}".lower()


Typed = Annotated[str, Query(max_length=200)]


@router.get("/schedules/new")
async def ask_for_schedule(view: Administering) -> Response:
    """Show an empty form. The query can fill its fields."""
    return await _page(view, ScheduleForm(typed={**NEW, **view.request.query_params}), None)


@router.post("/schedules/new")
async def create_schedule(view: Administering) -> Response:
    """Create a schedule, or show the form again with the problems."""
    form = ScheduleForm(typed=await _read_form(view))
    values = form.read()
    if values is None or not _has_name(form):
        return await _page(view, form, None, 422)
    try:
        stored = await view.services.schedules.create(Schedule(**values))
    except RolecallError as error:
        form.blame(error)
        return await _page(view, form, None, http_status_for(error))
    return view.done(f"Schedule {stored.name} is created", to=f"/schedules/{stored.id}")


@router.get("/schedules/explain")
async def explain_rhythm(
    view: Reading, rhythm: Typed = "every", every: Typed = "", cron: Typed = "", zone: Typed = ""
) -> Response:
    """Explain an interval or cron expression that is being typed."""
    try:
        words, following = _explain(rhythm, every.strip(), cron.strip(), zone.strip() or "UTC")
    except (InvalidSchedule, ValueError) as error:
        return view.page("schedules/explained.html", problem=str(error), words="", following=())
    return view.page("schedules/explained.html", problem="", words=words, following=following)


@router.get("/schedules/{schedule_id:int}/edit")
async def ask_for_change(view: Administering, schedule_id: PathId) -> Response:
    """Show the form of an existing schedule."""
    standing = await view.services.schedules.get(schedule_id)
    return await _page(view, ScheduleForm(typed=to_texts(standing)), standing)


@router.post("/schedules/{schedule_id:int}/edit")
async def change_schedule(view: Administering, schedule_id: PathId) -> Response:
    """Change a schedule. If it has changed meanwhile, show the stored values next to the typed ones."""
    standing = await view.services.schedules.get(schedule_id)
    form = ScheduleForm(typed={**to_texts(standing), "enabled": "", **await _read_form(view)})
    values = form.read(immutable=standing.immutable)
    if values is None:
        return await _page(view, form, standing, 422)
    values.pop("name", None)
    if values.get("handler", standing.handler) != standing.handler and values.get("role") == standing.role:
        del values["role"]  # it belonged to the old handler; the new one has its own
    revision = form.typed["revision"]
    try:
        await view.services.schedules.change(
            schedule_id, values, revision=int(revision) if revision.isdecimal() else standing.revision
        )
    except RolecallError as error:
        form.blame(error)
        shown = form.with_stored(standing) if isinstance(error, ScheduleChanged) else form
        return await _page(view, shown, standing, http_status_for(error))
    return view.done(f"Schedule {standing.name} is changed", to=f"/schedules/{schedule_id}")


@router.post("/schedules/{schedule_id:int}/delete")
async def delete_schedule(view: Administering, schedule_id: PathId) -> Response:
    """Delete a schedule with its history. Its tasks remain."""
    schedule = await view.services.schedules.get(schedule_id)
    again = " The app declares it, so it is created again when a worker starts." if schedule.made_by == "app" else ""
    meaning = f"Its tasks remain.{again}"
    await view.confirm(f"Delete schedule {schedule.name} with its history?", "Delete", meaning)
    await view.services.schedules.delete(schedule_id)
    return view.done(f"Schedule {schedule.name} is deleted; its tasks remain", to="/schedules")


async def _page(view: View, form: ScheduleForm, standing: StoredSchedule | None, status: int = 200) -> Response:
    handlers = await view.services.handlers.list()
    known = {handler.name: f"{handler.name} ({handler.role})" for handler in handlers}
    chosen = form.typed.get("handler", "")
    return view.page(
        "schedules/edit.html",
        status,
        form=form,
        standing=standing,
        handlers={chosen: chosen, **known} if chosen else known,
        zones=sorted(known_zones()),
    )


async def _read_form(view: View) -> dict[str, str]:
    return {name: str(text) for name, text in (await view.request.form()).items()}


def _has_name(form: ScheduleForm) -> bool:
    if not form.typed.get("name", "").strip():
        form.problems["name"] = "this is required"
    return "name" not in form.problems


def _explain(rhythm: str, every: str, cron: str, zone: str) -> tuple[str, list[tuple[datetime, str]]]:
    now = datetime.now(UTC)
    if rhythm == "cron":
        rule = Cron(cron, zone)
        rule.check()
        return rule.words(), [(slot, in_zone(slot, zone)) for slot in islice(rule.fire_times(now), EXPLAINED)]
    seconds = read_duration(every)
    check_schedule(Schedule(name="this", every=seconds))
    slots = [now + timedelta(seconds=seconds) * number for number in range(1, EXPLAINED + 1)]
    return "counted from the last run; this example starts now", [(slot, "") for slot in slots]
