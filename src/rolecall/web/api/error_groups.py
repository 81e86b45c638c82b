"""Error groups over HTTP: the failures with the same cause, their states, and retries of their tasks."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel

from rolecall.model.operator.bulk import BulkPreview, StoredBulkAction
from rolecall.model.operator.error_groups import ErrorGroup, ErrorGroupDetail, ErrorGroupFilter, ErrorState
from rolecall.model.operator.pages import Page
from rolecall.service.bulk_actions import DELAY
from rolecall.service.services import Services
from rolecall.web.dependencies import Operates, Reads
from rolecall.web.fields.parameters import Body, Delay, Limit, Moment, PathId, Rate, ShortText, TextCursor
from rolecall.web.routers import api_router

router = api_router(prefix="/api/errors", tags=["errors"])


class MarkedErrorGroup(BaseModel):
    """An error group's present state, and the one before."""

    id: int
    state: ErrorState
    was: ErrorState


class GroupRetry(Body):
    """A retry of the failed tasks of a group in `delay` seconds: all at once, or `rate` tasks a second."""

    rate: Rate | None = None
    delay: Delay = DELAY
    dry_run: bool = False


@router.get("")
async def list_error_groups(  # sizes: the filters
    services: Reads,
    state: Annotated[list[ErrorState] | None, Query(description="One or more states; by default all.")] = None,
    handler: ShortText | None = None,
    text: ShortText | None = None,
    since: Moment | None = None,
    cursor: TextCursor = None,
    limit: Limit = 50,
) -> Page[ErrorGroup]:
    """List error groups, those with the latest failures first. `since` selects errors that are new since then."""
    which = ErrorGroupFilter(states=state, handler=handler, text=text, since=since, cursor=cursor, limit=limit)
    return await services.error_groups.list(which)


@router.get("/{group_id:int}")
async def get_error_group(group_id: PathId, services: Reads) -> ErrorGroupDetail:
    """Return an error group with the text of its latest error, and how many of its tasks are failed now."""
    return await services.error_groups.get(group_id)


@router.post("/{group_id:int}/mute")
async def mute_error_group(group_id: PathId, services: Operates) -> MarkedErrorGroup:
    """Mute an error group. It stays muted when it fails again."""
    return await _mark(services, group_id, "muted")


@router.post("/{group_id:int}/resolve")
async def resolve_error_group(group_id: PathId, services: Operates) -> MarkedErrorGroup:
    """Resolve an error group. It is new again when it fails after that."""
    return await _mark(services, group_id, "resolved")


@router.post("/{group_id:int}/reopen")
async def reopen_error_group(group_id: PathId, services: Operates) -> MarkedErrorGroup:
    """Make a muted or resolved error group new again."""
    return await _mark(services, group_id, "new")


@router.post("/{group_id:int}/retry")
async def retry_error_group(
    group_id: PathId, services: Operates, request: GroupRetry | None = None
) -> StoredBulkAction | BulkPreview:
    """Start a bulk action that retries the failed tasks of an error group. `dry_run` only counts them."""
    given = request or GroupRetry()
    if given.dry_run:
        return await services.error_groups.preview_retry(group_id)
    return await services.error_groups.retry(group_id, rate=given.rate, delay=given.delay)


async def _mark(services: Services, group_id: int, state: ErrorState) -> MarkedErrorGroup:
    return MarkedErrorGroup(id=group_id, state=state, was=await services.error_groups.mark(group_id, state))
