"""Bulk actions over HTTP: preview, start, list, show and stop."""

from __future__ import annotations

from fastapi import Response

from rolecall.model.operator.bulk import BulkPreview, StoredBulkAction
from rolecall.model.operator.insight import BulkAction
from rolecall.model.operator.pages import Page
from rolecall.service.bulk_actions import DELAY
from rolecall.web.dependencies import Operates, Reads
from rolecall.web.fields.aliases import Naming
from rolecall.web.fields.parameters import Body, Cursor, Delay, Limit, PathId, Rate
from rolecall.web.fields.task_filters import BodyFilter, resolve_filter
from rolecall.web.http.problems import refuses
from rolecall.web.routers import api_router

router = api_router(prefix="/api/bulk", tags=["bulk"])


class WantedTasks(Body):
    """An action, and the filter of its tasks, which must not be empty."""

    action: BulkAction
    filter: BodyFilter


class NewBulkAction(WantedTasks):
    """A bulk action to start in `delay` seconds. A retry can have a `rate`, in tasks a second."""

    rate: Rate | None = None
    delay: Delay = DELAY


@router.get("")
async def list_bulk_actions(services: Reads, cursor: Cursor = None, limit: Limit = 50) -> Page[StoredBulkAction]:
    """List bulk actions, newest first."""
    return await services.bulk_actions.list(cursor, limit)


@router.post("", status_code=201)
async def start_bulk_action(
    request: NewBulkAction, response: Response, services: Operates, names: Naming
) -> StoredBulkAction:
    """Retry, cancel or delete all tasks that match the filter and exist now. Maintenance works them off in batches."""
    tasks = await resolve_filter(request.filter, services, names)
    action = await services.bulk_actions.start(request.action, tasks, rate=request.rate, delay=request.delay)
    response.headers["Location"] = f"/api/bulk/{action.id}"
    return action


@router.post("/preview")
async def preview_bulk_action(request: WantedTasks, services: Operates, names: Naming) -> BulkPreview:
    """Count the tasks that a bulk action would change now, by role, handler and error group."""
    return await services.bulk_actions.preview(request.action, await resolve_filter(request.filter, services, names))


@router.get("/{bulk_action_id:int}", responses=refuses(404))
async def get_bulk_action(bulk_action_id: PathId, services: Reads) -> StoredBulkAction:
    """Return a bulk action with its progress."""
    return await services.bulk_actions.get(bulk_action_id)


@router.post("/{bulk_action_id:int}/stop", responses=refuses(404))
async def stop_bulk_action(bulk_action_id: PathId, services: Operates) -> StoredBulkAction:
    """Stop a bulk action, or withdraw it if it has not started. Tasks that it has changed stay changed."""
    return await services.bulk_actions.stop(bulk_action_id)
