"""The form of a schedule: a new one, a change of one that stands, and what its rhythm means while it is typed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Annotated
from zoneinfo import available_timezones

from fastapi import Query, Response

from rolecall.maintenance.slots import Cron, check_schedule
from rolecall.model.durations import read_duration
from rolecall.model.error_table import http_status_for
from rolecall.model.errors import InvalidSchedule, RolecallError, ScheduleChanged
from rolecall.model.schedules import Schedule, StoredSchedule
from rolecall.web.dashboard.forms.schedule_form import NEW, ScheduleForm, as_typed
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.telling.clock_changes import in_zone
from rolecall.web.dashboard.view import Administering, Reading, View
from rolecall.web.parameters import PathId

router = Pages()

EXPLAINED = 5
Typed = Annotated[str, Query(max_length=200)]


@router.get("/schedules/new")
async def ask_for_schedule(view: Administering) -> Response:
    """Show an empty form; the address may bring what stands in its fields."""
    return await _page(view, ScheduleForm(typed={**NEW, **view.request.query_params}), None)


@router.post("/schedules/new")
async def create_schedule(view: Administering) -> Response:
    """Store a new schedule; show the form again where it cannot be."""
    form = ScheduleForm(typed=await _typed(view))
    said = form.read()
    if said is None or not _has_name(form):
        return await _page(view, form, None, 422)
    try:
        stored = await view.services.schedules.create(Schedule(**said))
    except RolecallError as error:
        form.blame(error)
        return await _page(view, form, None, http_status_for(error))
    return view.done(f"Schedule {stored.name} is stored", to=f"/schedules/{stored.id}")


@router.get("/schedules/explain")
async def explain_rhythm(
    view: Reading, rhythm: Typed = "every", every: Typed = "", cron: Typed = "", zone: Typed = ""
) -> Response:
    """Say what a rhythm means that somebody types."""
    try:
        words, following = _explained(rhythm, every.strip(), cron.strip(), zone.strip() or "UTC")
    except (InvalidSchedule, ValueError) as error:
        return view.page("schedules/explained.html", problem=str(error), words="", following=())
    return view.page("schedules/explained.html", problem="", words=words, following=following)


@router.get("/schedules/{schedule_id:int}/edit")
async def ask_for_change(view: Administering, schedule_id: PathId) -> Response:
    """Show the form of a schedule that stands."""
    standing = await view.services.schedules.get(schedule_id)
    return await _page(view, ScheduleForm(typed=as_typed(standing)), standing)


@router.post("/schedules/{schedule_id:int}/edit")
async def change_schedule(view: Administering, schedule_id: PathId) -> Response:
    """Change it, unless somebody was faster: then show what stands now beside what was typed."""
    standing = await view.services.schedules.get(schedule_id)
    form = ScheduleForm(typed={**as_typed(standing), "enabled": "", **await _typed(view)})
    said = form.read(immutable=standing.immutable)
    if said is None:
        return await _page(view, form, standing, 422)
    said.pop("name", None)
    if said.get("handler", standing.handler) != standing.handler and said.get("role") == standing.role:
        del said["role"]  # that of the old handler stood there: another one comes with its own
    revision = form.typed["revision"]
    try:
        await view.services.schedules.change(
            schedule_id, said, revision=int(revision) if revision.isdecimal() else standing.revision
        )
    except RolecallError as error:
        form.blame(error)
        shown = form.overtaken_by(standing) if isinstance(error, ScheduleChanged) else form
        return await _page(view, shown, standing, http_status_for(error))
    return view.done(f"Schedule {standing.name} is changed", to=f"/schedules/{schedule_id}")


@router.post("/schedules/{schedule_id:int}/delete")
async def delete_schedule(view: Administering, schedule_id: PathId) -> Response:
    """Forget it, with its history; the tasks that it has enqueued stay."""
    schedule = await view.services.schedules.get(schedule_id)
    again = " The app declares it: it comes back when a worker starts." if schedule.made_by == "app" else ""
    meaning = f"The tasks that it has enqueued stay.{again}"
    await view.confirm(f"Delete schedule {schedule.name} with its history?", "Delete", meaning)
    await view.services.schedules.delete(schedule_id)
    return view.done(f"Schedule {schedule.name} is deleted; the tasks that it has enqueued stay", to="/schedules")


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
        zones=sorted(available_timezones()),
    )


async def _typed(view: View) -> dict[str, str]:
    return {name: str(text) for name, text in (await view.request.form()).items()}


def _has_name(form: ScheduleForm) -> bool:
    if not form.typed.get("name", "").strip():
        form.problems["name"] = "this is needed"
    return "name" not in form.problems


def _explained(rhythm: str, every: str, cron: str, zone: str) -> tuple[str, list[tuple[datetime, str]]]:
    now = datetime.now(UTC)
    if rhythm == "cron":
        rule = Cron(cron, zone)
        rule.check()
        return rule.words(), [(slot, in_zone(slot, zone)) for slot in islice(rule.slots(now), EXPLAINED)]
    seconds = read_duration(every)
    check_schedule(Schedule(name="this", every=seconds))
    slots = [now + timedelta(seconds=seconds) * number for number in range(1, EXPLAINED + 1)]
    return "counted from its last run, here as if that were now", [(slot, "") for slot in slots]
