"""Live updates: a snapshot, a stream of events, and the progress of trees."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, Header, Query, Request

from rolecall.model.operator.live import LiveSnapshot
from rolecall.model.operator.progress import Progress
from rolecall.service.live import Stream, Subscription
from rolecall.service.progress import read_weights
from rolecall.web.dependencies import KnownCaller, Reads
from rolecall.web.fields.parameters import Id, PathId, ShortText
from rolecall.web.http.events import EventStream, events_of
from rolecall.web.http.problems import Responses, refuses
from rolecall.web.routers import api_router
from rolecall.web.state import state_of

router = api_router(prefix="/api/live", tags=["live"])
progress_router = api_router(prefix="/api/tasks", tags=["live"])

EVENTS: Responses = {
    200: {
        "description": "Events, until either side closes: connected, task_changed, role_changed, progress, reload, "
        "stale, fresh, heartbeat",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


Roles = Annotated[list[ShortText], Query(description="Only changes in these roles.", max_length=100)]
Roots = Annotated[list[Id], Query(description="Send the progress of these trees.", max_length=10)]
Counts = Annotated[bool, Query(description="Send counts of roles, which requires counting all open tasks.")]
Position = Annotated[str | None, Header(description="The id of the last event that was received.", max_length=100)]


@router.get("/snapshot")
async def show_snapshot(services: Reads) -> LiveSnapshot:
    """Return the counts of all roles. The events `role_changed` update them."""
    return await services.progress.roles()


async def _watch(  # sizes: the parameters of the request
    _services: Reads,
    caller: KnownCaller,
    request: Request,
    role: Roles = [],  # noqa: B006 - never changed
    root: Roots = [],  # noqa: B006 - never changed
    *,
    counts: Counts = True,
    last_event_id: Position = None,
) -> AsyncIterator[Stream]:
    question = Subscription(roles=frozenset(role), roots=frozenset(root), counts=counts)
    async with state_of(request).live.watch(question, last_event_id, caller=caller.limited_as) as stream:
        yield stream


@router.get("", status_code=200, response_class=EventStream, responses=EVENTS | refuses(404))
async def watch_pool(stream: Annotated[Stream, Depends(_watch)], request: Request) -> EventStream:
    """Stream changes from now on, or since the event of `Last-Event-ID` if it is at most two minutes old.

    The stream ends within ten seconds after its caller loses access.
    """
    state = state_of(request)
    return EventStream(events_of(stream, lambda: state.access.still_admits(request), heartbeat=state.heartbeat))


Weights = Annotated[
    list[str], Query(description="The weight of a handler's phase (default 1): `fetch:3`", max_length=100)
]


@progress_router.get("/{task_id:int}/progress", responses=refuses(404))
async def show_progress(services: Reads, task_id: PathId, weight: Weights = []) -> Progress:  # noqa: B006 - never changed
    """Return the progress of a task and everything below it, phase by phase."""
    return await services.progress.tree(task_id, read_weights(weight))
