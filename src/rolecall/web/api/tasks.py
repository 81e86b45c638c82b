"""Tasks over HTTP: enqueue, list and show them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any

from fastapi import Query, Request, Response

from rolecall.model.operator.history import History
from rolecall.model.operator.insight import Attempt, RoleCount, TaskFilter, TimelineEntry
from rolecall.model.operator.logs import LogFilter, LogLevel, LogLine, StackReport
from rolecall.model.operator.pages import Page
from rolecall.model.operator.why import Why
from rolecall.model.tasks import Enqueued, Needed, TreeNode
from rolecall.web.dependencies import KnownCaller, Reads
from rolecall.web.fields.aliases import MARK, Naming
from rolecall.web.fields.new_tasks import Batch, TaskRequest, read_batch, read_task, trace_of
from rolecall.web.fields.parameters import Cursor, Limit, PathId, Patience, ShortText, TextCursor, with_items
from rolecall.web.fields.task_filters import Listing, resolve_filter
from rolecall.web.fields.views import ListedTask, ShownTask, listed_task, view_of_task
from rolecall.web.http.problems import Responses, refuses
from rolecall.web.http.requests import UNCHANGED, with_etag
from rolecall.web.idempotency import OperatesOnce
from rolecall.web.routers import api_router
from rolecall.web.state import state_of

router = api_router(prefix="/api/tasks", tags=["tasks"])

LARGEST_INT = 2**31 - 1
Minutes = Annotated[int, Query(ge=1, le=129_600, description="The number of minutes to look back.")]
DaysAgo = Annotated[int, Query(ge=0, le=90, description="End the period this many days before now.")]
STOOD: Responses = {200: {"model": Enqueued, "description": "A task with this dedupe_key existed already"}}


@router.get("", openapi_extra={MARK: True})
async def list_tasks(listing: Annotated[Listing, Query()], services: Reads, names: Naming) -> Page[ListedTask]:
    """List open and finished tasks, newest first. A page can be short, or even empty, although another one follows."""
    which = await resolve_filter(listing, services, names, cursor=listing.cursor, limit=listing.limit)
    return with_items(await services.tasks.list(which), lambda task: listed_task(task, names))


@router.post("", status_code=201, responses=refuses(409) | STOOD)
async def enqueue_task(
    task: TaskRequest, services: OperatesOnce, names: Naming, request: Request, response: Response
) -> Enqueued:
    """Enqueue one task."""
    enqueued = await services.tasks.enqueue(read_task(task, state_of(request).app, names), trace_of(request))
    response.headers["Location"] = f"/api/tasks/{enqueued.id}"
    if enqueued.deduplicated:
        response.status_code = 200
    return enqueued


@router.post("/batch", status_code=201, responses=refuses(409))
async def enqueue_tasks(batch: Batch, services: OperatesOnce, names: Naming, request: Request) -> list[Enqueued]:
    """Enqueue up to 1,000 tasks: all or none. The results are in the same order."""
    return await services.tasks.enqueue_many(read_batch(batch, state_of(request).app, names), trace_of(request))


@router.get("/counts")
async def count_tasks(services: Reads) -> list[RoleCount]:
    """Count the tasks of each role by state."""
    return await services.insight.counts()


@router.get("/history", responses=refuses(404))
async def get_history(
    services: Reads,
    role: ShortText | None = None,
    handler: ShortText | None = None,
    minutes: Minutes = 60,
    days_ago: DaysAgo = 0,
) -> History:
    """Return finished tasks, waiting and running times, and open tasks over time, in about 150 steps: of a role, of a
    handler, or of all roles.
    """
    return await services.insight.history(role, minutes, handler=handler, ago=timedelta(days=days_ago))


@router.get("/{task_id:int}", response_model=ShownTask, responses=UNCHANGED)
async def get_task(task_id: PathId, services: Reads, names: Naming, request: Request) -> Response:
    """Return one task, open or finished, with its payload and result."""
    return with_etag(request, view_of_task(await services.tasks.get(task_id), names))


@router.get("/{task_id:int}/payload")
async def get_payload(task_id: PathId, services: Reads) -> dict[str, Any]:
    """Return only the payload of a task."""
    return (await services.tasks.get(task_id)).payload


@router.get("/{task_id:int}/result")
async def get_result(task_id: PathId, services: Reads) -> Any:
    """Return only the result of a task; null until it has completed."""
    return (await services.tasks.get(task_id)).result


@router.get("/{task_id:int}/timeline")
async def get_timeline(task_id: PathId, services: Reads) -> list[TimelineEntry]:
    """List what happened to a task, oldest first."""
    return (await services.tasks.show(task_id)).timeline


@router.get("/{task_id:int}/attempts")
async def list_attempts(task_id: PathId, services: Reads) -> Sequence[Attempt]:
    """List the claims of a task, oldest first, with worker, times and outcome; null for those that still run."""
    return await services.tasks.attempts(task_id)


@router.get("/{task_id:int}/logs")
async def get_logs(  # sizes: the filters
    task_id: PathId,
    services: Reads,
    attempt: Annotated[int | None, Query(ge=0, le=LARGEST_INT)] = None,
    level: Annotated[LogLevel | None, Query(description="The lowest level.")] = None,
    cursor: TextCursor = None,
    limit: Limit = 1_000,
    *,
    last: Annotated[bool, Query(description="The last lines instead of the first ones.")] = False,
) -> Page[LogLine]:
    """Return the log lines of a task's attempts, oldest first. The last page has a cursor too, for later lines."""
    which = LogFilter(attempt=attempt, level=level, cursor=cursor, limit=limit, last=last)
    return await services.tasks.logs(task_id, which)


@router.get("/{task_id:int}/stack")
async def get_stack(task_id: PathId, services: Reads) -> StackReport:
    """Return the latest stack of the task's handler that somebody requested."""
    return await services.tasks.stack(task_id)


@router.get("/{task_id:int}/tree")
async def get_tree(task_id: PathId, services: Reads) -> Sequence[TreeNode]:
    """Return a task and everything below it, level by level."""
    return await services.tasks.tree(task_id)


@router.get("/{task_id:int}/children")
async def list_children(
    task_id: PathId, services: Reads, names: Naming, cursor: Cursor = None, limit: Limit = 50
) -> Page[ListedTask]:
    """List the children of a task, newest first."""
    await services.tasks.get(task_id)
    tasks = await services.tasks.list(TaskFilter(parent_id=task_id, cursor=cursor, limit=limit))
    return with_items(tasks, lambda task: listed_task(task, names))


@router.get("/{task_id:int}/needs")
async def list_needs(task_id: PathId, services: Reads) -> Sequence[Needed]:
    """List the needs of a task in the order of their declaration. A null `outcome` means that the need is open."""
    return await services.tasks.needs(task_id)


@router.get("/{task_id:int}/why")
async def explain_task(task_id: PathId, services: Reads) -> Why:
    """List the causes why a task does not run, most important first, and what would change them."""
    return await services.tasks.why(task_id)


@router.get("/{task_id:int}/wait")
async def wait_for_task(  # sizes: the caller and the parts of the response
    task_id: PathId, services: Reads, names: Naming, caller: KnownCaller, request: Request, seconds: Patience = 20.0
) -> ListedTask:
    """Return the task once it has finished, or its current state after the seconds; see `finished_at`."""
    task = await services.tasks.get(task_id)
    if not task.is_finished:
        await state_of(request).waits.for_task(task_id, seconds, caller.limited_as)
        task = await services.tasks.get(task_id)
    return listed_task(task, names)
