"""Schedules over HTTP: the rules, their next runs and their history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Header, Query, Response
from pydantic import Field

from rolecall.model.operator.pages import Page
from rolecall.model.schedules import (
    Misfire,
    Overlap,
    PlannedRun,
    RunOutcome,
    Schedule,
    ScheduleAhead,
    ScheduleRun,
    StoredSchedule,
)
from rolecall.web.dependencies import Administers, Operates, Reads
from rolecall.web.fields.aliases import Naming, SecondNames
from rolecall.web.fields.parameters import Cursor, Limit, Moment, OpenBody, PathId, agreed, with_items
from rolecall.web.fields.views import HOUR, ShownSchedule, view_of_schedule
from rolecall.web.http.problems import refuses
from rolecall.web.idempotency import OperatesOnce
from rolecall.web.routers import api_router

router = api_router(prefix="/api/schedules", tags=["schedules"])

Hours = Annotated[float, Query(gt=0, le=168, description="The number of hours to look ahead.")]
IfMatch = Annotated[str | None, Header(pattern=r'^"\d{1,9}"$', description="The ETag of the state to change.")]


class ScheduleChanges(OpenBody):
    """Changes to a schedule. Omitted fields keep their values; a null `key` removes the key.

    `every` and `jitter` are in seconds, `interval_hours` is `every` in hours. `every` and `cron` replace each other.
    Field aliases of the app are accepted next to the payload: an alias changes only its own field, and null removes it.
    """

    every: float | None = None
    interval_hours: Annotated[float, Field(gt=0)] | None = None
    cron: str | None = None
    zone: str | None = None
    handler: str | None = None
    role: str | None = None
    payload: dict[str, Any] | None = None
    priority: int | None = None
    key: str | None = None
    misfire: Misfire | None = None
    overlap: Overlap | None = None
    jitter: float | None = None
    enabled: bool | None = None
    immutable: bool | None = None
    first_run_at: Moment | None = None

    def values(self, names: SecondNames, standing: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the given fields for the service, with field aliases merged into the payload, given or standing.

        Raises FilterError, RequestValidationError.
        """
        extra = self.model_extra or {}
        given = self.model_dump(exclude_unset=True, exclude={"interval_hours", *extra})
        seconds = None if self.interval_hours is None else self.interval_hours * HOUR
        given["every"] = agreed("every", self.every, "interval_hours", seconds)
        if extra:
            given["payload"] = names.payload(extra, self.payload, standing)
        return {name: value for name, value in given.items() if value is not None or name == "key"}


class NewSchedule(ScheduleChanges):
    """A new schedule: its name, `every` or `cron`, and the handler of its tasks."""

    name: Annotated[str, Field(min_length=1, max_length=100)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Triggered:
    """The task that a manual run of a schedule enqueued."""

    schedule_id: int
    task_id: int


@router.get("")
async def list_schedules(services: Reads, names: Naming) -> Page[ShownSchedule]:
    """List all schedules, by name."""
    page = Page(items=await services.schedules.list())
    return with_items(page, lambda schedule: view_of_schedule(schedule, names))


@router.get("/ahead")
async def look_ahead(services: Reads, hours: Hours = 24) -> Page[ScheduleAhead]:
    """List the fire times of all schedules in the next hours. Fire times in quick succession are merged."""
    return Page(items=list(await services.schedules.ahead(hours)))


@router.post("", status_code=201, responses=refuses(409))
async def create_schedule(services: Administers, names: Naming, body: NewSchedule, response: Response) -> ShownSchedule:
    """Create a schedule; 409 if the name exists."""
    schedule = await services.schedules.create(Schedule(**body.values(names)))
    response.headers["Location"] = f"{router.prefix}/{schedule.id}"
    return _with_etag(schedule, names, response)


@router.get("/{schedule_id:int}", responses=refuses(404))
async def get_schedule(services: Reads, names: Naming, schedule_id: PathId, response: Response) -> ShownSchedule:
    """Return one schedule."""
    return _with_etag(await services.schedules.get(schedule_id), names, response)


@router.put("/{schedule_id:int}", responses=refuses(404, 409, 412))
async def change_schedule(  # sizes: the body and the parts of the response
    services: Administers,
    names: Naming,
    schedule_id: PathId,
    body: ScheduleChanges,
    response: Response,
    if_match: IfMatch = None,
) -> ShownSchedule:
    """Change a schedule; 412 if it has changed since the state that If-Match names."""
    revision = int(if_match.strip('"')) if if_match else None
    if not body.model_extra:
        changed = await services.schedules.change(schedule_id, body.values(names), revision=revision)
    else:
        # An alias changes one field of the stored payload, which must not change meanwhile.
        standing = await services.schedules.get(schedule_id)
        changes = body.values(names, standing.payload)
        expected = standing.revision if revision is None else revision
        changed = await services.schedules.change(schedule_id, changes, revision=expected)
    return _with_etag(changed, names, response)


@router.delete("/{schedule_id:int}", status_code=204, response_model=None, responses=refuses(404, 409))
async def delete_schedule(services: Administers, schedule_id: PathId) -> None:
    """Delete a schedule. Its tasks remain. 409 for an immutable schedule."""
    await services.schedules.delete(schedule_id)


@router.post("/{schedule_id:int}/trigger", responses=refuses(404))
async def trigger_schedule(services: OperatesOnce, schedule_id: PathId) -> Triggered:
    """Run a schedule now. If the task of its last run is open, return that task."""
    return Triggered(schedule_id=schedule_id, task_id=await services.schedules.trigger(schedule_id))


@router.post("/{schedule_id:int}/enable", responses=refuses(404, 409))
async def enable_schedule(services: Operates, names: Naming, schedule_id: PathId, response: Response) -> ShownSchedule:
    """Enable a schedule from now on. Missed fire times are skipped."""
    return _with_etag(await services.schedules.enable(schedule_id), names, response)


@router.post("/{schedule_id:int}/disable", responses=refuses(404, 409))
async def disable_schedule(services: Operates, names: Naming, schedule_id: PathId, response: Response) -> ShownSchedule:
    """Disable a schedule."""
    return _with_etag(await services.schedules.disable(schedule_id), names, response)


@router.get("/{schedule_id:int}/preview", responses=refuses(404))
async def preview_schedule(services: Reads, schedule_id: PathId, limit: Limit = 10) -> Page[PlannedRun]:
    """List the next runs, also of a disabled schedule."""
    return Page(items=list(await services.schedules.preview(schedule_id, limit)))


@router.get("/{schedule_id:int}/outcomes", responses=refuses(404))
async def count_outcomes(services: Reads, schedule_id: PathId) -> Mapping[RunOutcome, int]:
    """Count the schedule's recorded runs by outcome."""
    return await services.schedules.outcomes(schedule_id)


@router.get("/{schedule_id:int}/runs", responses=refuses(404))
async def list_runs(
    services: Reads, schedule_id: PathId, cursor: Cursor = None, limit: Limit = 50
) -> Page[ScheduleRun]:
    """List the schedule's runs with their outcomes, including manual ones, newest first."""
    return await services.schedules.runs(schedule_id, cursor=cursor, limit=limit)


def _with_etag(schedule: StoredSchedule, names: SecondNames, response: Response) -> ShownSchedule:
    response.headers["ETag"] = f'"{schedule.revision}"'
    return view_of_schedule(schedule, names)
