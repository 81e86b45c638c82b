"""Schedules over HTTP: the rules, their next runs, and what became of the last ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response
from pydantic import Field

from rolecall.model.pages import Page
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
from rolecall.web.idempotency import OperatesOnce
from rolecall.web.parameters import Cursor, Limit, Moment, OpenBody, PathId, agreed, with_items
from rolecall.web.problems import refuses
from rolecall.web.second_names import Naming, SecondNames
from rolecall.web.views import HOUR, ShownSchedule, shown_schedule

router = APIRouter(prefix="/api/schedules", tags=["schedules"])

Hours = Annotated[float, Query(gt=0, le=168, description="How far to look.")]
IfMatch = Annotated[
    str | None, Header(pattern=r'^"\d{1,9}"$', description="The ETag of the state that the change is for.")
]


class ScheduleChanges(OpenBody):
    """What is to be said of a schedule; what is left out keeps its value, and a `key` of null takes it away.

    `every` and `jitter` are seconds, `interval_hours` is `every` in hours; of `every` and `cron`, one takes the other's
    place. Second names of the app for fields of the payload stand beside it; such a field alone leaves the others as
    they are, and null takes it away.
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
        """Return what was given, as the service takes it; second names go into the payload, given or standing.

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
    """A schedule that is to be new: its name, its rhythm (`every` or `cron`), and the handler of its tasks."""

    name: Annotated[str, Field(min_length=1, max_length=100)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Triggered:
    """The task that a schedule's run now came to."""

    schedule_id: int
    task_id: int


@router.get("")
async def list_schedules(services: Reads, names: Naming) -> Page[ShownSchedule]:
    """All schedules by name."""
    page = Page(items=await services.schedules.list())
    return with_items(page, lambda schedule: shown_schedule(schedule, names))


@router.get("/ahead")
async def look_ahead(services: Reads, hours: Hours = 24) -> Page[ScheduleAhead]:
    """What all schedules bring within so many hours; slots that follow each other closely are one stretch."""
    return Page(items=list(await services.schedules.ahead(hours)))


@router.post("", status_code=201, responses=refuses(409))
async def create_schedule(services: Administers, names: Naming, body: NewSchedule, response: Response) -> ShownSchedule:
    """Store a new schedule; 409 if its name is taken."""
    schedule = await services.schedules.create(Schedule(**body.values(names)))
    response.headers["Location"] = f"{router.prefix}/{schedule.id}"
    return _with_etag(schedule, names, response)


@router.get("/{schedule_id:int}", responses=refuses(404))
async def get_schedule(services: Reads, names: Naming, schedule_id: PathId, response: Response) -> ShownSchedule:
    """One schedule."""
    return _with_etag(await services.schedules.get(schedule_id), names, response)


@router.put("/{schedule_id:int}", responses=refuses(404, 409, 412))
async def change_schedule(  # sizes: what is changed, and what an answer is made of
    services: Administers,
    names: Naming,
    schedule_id: PathId,
    body: ScheduleChanges,
    response: Response,
    if_match: IfMatch = None,
) -> ShownSchedule:
    """Change a schedule; 412 if somebody has changed it since the state that If-Match names."""
    revision = int(if_match.strip('"')) if if_match else None
    if not body.model_extra:
        changed = await services.schedules.change(schedule_id, body.values(names), revision=revision)
    else:
        # A field of the payload goes into the one that stands: nobody may change that meanwhile.
        standing = await services.schedules.get(schedule_id)
        changes = body.values(names, standing.payload)
        expected = standing.revision if revision is None else revision
        changed = await services.schedules.change(schedule_id, changes, revision=expected)
    return _with_etag(changed, names, response)


@router.delete("/{schedule_id:int}", status_code=204, responses=refuses(404, 409))
async def delete_schedule(services: Administers, schedule_id: PathId) -> None:
    """Forget a schedule; the tasks that it enqueued stay. 409 for an immutable one."""
    await services.schedules.delete(schedule_id)


@router.post("/{schedule_id:int}/trigger", responses=refuses(404))
async def trigger_schedule(services: OperatesOnce, schedule_id: PathId) -> Triggered:
    """Run it now; while the task of its last run is open, that one stands for it."""
    return Triggered(schedule_id=schedule_id, task_id=await services.schedules.trigger(schedule_id))


@router.post("/{schedule_id:int}/enable", responses=refuses(404, 409))
async def enable_schedule(services: Operates, names: Naming, schedule_id: PathId, response: Response) -> ShownSchedule:
    """Let it fire from now on; what it missed meanwhile is not made up for."""
    return _with_etag(await services.schedules.enable(schedule_id), names, response)


@router.post("/{schedule_id:int}/disable", responses=refuses(404, 409))
async def disable_schedule(services: Operates, names: Naming, schedule_id: PathId, response: Response) -> ShownSchedule:
    """Keep it from firing."""
    return _with_etag(await services.schedules.disable(schedule_id), names, response)


@router.get("/{schedule_id:int}/preview", responses=refuses(404))
async def preview_schedule(services: Reads, schedule_id: PathId, limit: Limit = 10) -> Page[PlannedRun]:
    """The next runs; those that a disabled one would have."""
    return Page(items=list(await services.schedules.preview(schedule_id, limit)))


@router.get("/{schedule_id:int}/outcomes", responses=refuses(404))
async def count_outcomes(services: Reads, schedule_id: PathId) -> Mapping[RunOutcome, int]:
    """How many of its slots came to which outcome, as far as its history goes."""
    return await services.schedules.outcomes(schedule_id)


@router.get("/{schedule_id:int}/runs", responses=refuses(404))
async def list_runs(
    services: Reads, schedule_id: PathId, cursor: Cursor = None, limit: Limit = 50
) -> Page[ScheduleRun]:
    """What became of its slots and of the runs that people asked for, the latest first."""
    return await services.schedules.runs(schedule_id, cursor=cursor, limit=limit)


def _with_etag(schedule: StoredSchedule, names: SecondNames, response: Response) -> ShownSchedule:
    response.headers["ETag"] = f'"{schedule.revision}"'
    return shown_schedule(schedule, names)
