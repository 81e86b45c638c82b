"""Tasks over HTTP: enqueue them, and look at them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from rolecall.model.history import History
from rolecall.model.insight import Attempt, RoleCount, TaskFilter, TimelineEntry
from rolecall.model.pages import Page
from rolecall.model.tasks import Enqueued, Needed, TreeNode
from rolecall.model.why import Why
from rolecall.web.dependencies import KnownCaller, Reads
from rolecall.web.http import UNCHANGED, with_etag
from rolecall.web.idempotency import OperatesOnce
from rolecall.web.new_tasks import Batch, TaskRequest, read_batch, read_task, trace_of
from rolecall.web.parameters import Cursor, Limit, PathId, Patience, ShortText, with_items
from rolecall.web.problems import Responses, refuses
from rolecall.web.second_names import MARK, Naming
from rolecall.web.state import state_of
from rolecall.web.task_filters import Listing, asked_for
from rolecall.web.views import ListedTask, ShownTask, listed_task, shown_task

router = APIRouter(prefix="/api/tasks", tags=["tasks"])

Minutes = Annotated[int, Query(ge=1, le=129_600, description="How far to look back.")]
STOOD: Responses = {200: {"model": Enqueued, "description": "A task with its dedupe_key stood already"}}


@router.get("", openapi_extra={MARK: True})
async def list_tasks(listing: Annotated[Listing, Query()], services: Reads, names: Naming) -> Page[ListedTask]:
    """Tasks, open and finished, the newest first; a page may be short, even empty, and yet have a next one."""
    which = await asked_for(listing, services, names, cursor=listing.cursor, limit=listing.limit)
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
    """Enqueue up to a thousand tasks, all or none; the answers come in their order."""
    return await services.tasks.enqueue_many(read_batch(batch, state_of(request).app, names), trace_of(request))


@router.get("/counts")
async def count_tasks(services: Reads) -> list[RoleCount]:
    """How many tasks each role has in each state."""
    return await services.insight.counts()


@router.get("/history", responses=refuses(404))
async def tell_history(services: Reads, role: ShortText | None = None, minutes: Minutes = 60) -> History:
    """What ended of a role, or of all, how long it waited and ran, and what was open, in 150 steps at most."""
    return await services.insight.history(role, minutes)


@router.get("/{task_id:int}", response_model=ShownTask, responses=UNCHANGED)
async def get_task(task_id: PathId, services: Reads, names: Naming, request: Request) -> Response:
    """One task, open or finished, with payload and result."""
    return with_etag(request, shown_task(await services.tasks.get(task_id), names))


@router.get("/{task_id:int}/payload")
async def get_payload(task_id: PathId, services: Reads) -> dict[str, Any]:
    """A task's payload alone."""
    return (await services.tasks.get(task_id)).payload


@router.get("/{task_id:int}/result")
async def get_result(task_id: PathId, services: Reads) -> Any:
    """A task's result alone; null until it has completed."""
    return (await services.tasks.get(task_id)).result


@router.get("/{task_id:int}/timeline")
async def get_timeline(task_id: PathId, services: Reads) -> list[TimelineEntry]:
    """What happened to a task, oldest first."""
    return (await services.tasks.show(task_id)).timeline


@router.get("/{task_id:int}/attempts")
async def list_attempts(task_id: PathId, services: Reads) -> Sequence[Attempt]:
    """Each claim of a task, oldest first: by whom, when claimed, begun and ended, and how; null while it runs."""
    return await services.tasks.attempts(task_id)


@router.get("/{task_id:int}/tree")
async def get_tree(task_id: PathId, services: Reads) -> Sequence[TreeNode]:
    """A task and everything below it, level by level."""
    return await services.tasks.tree(task_id)


@router.get("/{task_id:int}/children")
async def list_children(
    task_id: PathId, services: Reads, names: Naming, cursor: Cursor = None, limit: Limit = 50
) -> Page[ListedTask]:
    """The children of a task, the newest first."""
    await services.tasks.get(task_id)
    tasks = await services.tasks.list(TaskFilter(parent_id=task_id, cursor=cursor, limit=limit))
    return with_items(tasks, lambda task: listed_task(task, names))


@router.get("/{task_id:int}/needs")
async def list_needs(task_id: PathId, services: Reads) -> Sequence[Needed]:
    """What became of all that a task needs, in the order declared; an `outcome` of null is still open."""
    return await services.tasks.needs(task_id)


@router.get("/{task_id:int}/why")
async def explain_task(task_id: PathId, services: Reads) -> Why:
    """Why a task does not run: everything that keeps it, the most important first, and what would change that."""
    return await services.tasks.why(task_id)


@router.get("/{task_id:int}/wait")
async def wait_for_task(  # sizes: who asks, and what an answer is made of
    task_id: PathId, services: Reads, names: Naming, caller: KnownCaller, request: Request, seconds: Patience = 20.0
) -> ListedTask:
    """The task once it has finished, or as it stands when the seconds have passed: `finished_at` tells."""
    task = await services.tasks.get(task_id)
    if not task.is_finished:
        await state_of(request).waits.for_task(task_id, seconds, caller.counted_as)
        task = await services.tasks.get(task_id)
    return listed_task(task, names)
