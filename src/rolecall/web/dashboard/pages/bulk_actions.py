"""The pages of bulk actions: the question with an exact preview, and one action with its progress."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import Form, Request, Response

from rolecall.model.errors import FilterError
from rolecall.model.operator.insight import BulkAction
from rolecall.service.bulk_actions import DELAY
from rolecall.web.dashboard.forms.task_query import TaskQuery, read_query
from rolecall.web.dashboard.presenters import bulk_actions as words
from rolecall.web.dashboard.presenters.confirmations import MEANINGS
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Operating, Reading
from rolecall.web.fields.parameters import Blank, PathId, Rate

router = Pages()

MaybeRate = Annotated[Rate | None, Blank, Form()]


@router.get("/tasks/bulk")
async def ask_before_bulk(view: Operating, request: Request, action: BulkAction = "retry") -> Response:
    """Ask for confirmation of an action on all tasks that match a filter, and show how many there are."""
    query = _readable(read_query(request.query_params))
    parts = await view.read(found=view.services.bulk_actions.preview(action, query.filter)) if query.words else {}
    meaning = MEANINGS[action]
    return view.page("tasks/bulk.html", query=query, action=action, meaning=meaning, delay=DELAY, **parts)


@router.post("/tasks/bulk")
async def start_bulk_action(
    view: Operating, request: Request, action: Annotated[BulkAction, Form()], rate: MaybeRate = None
) -> Response:
    """Start an action on all tasks that match a filter."""
    query = _readable(read_query(await request.form()))
    started = await view.services.bulk_actions.start(action, query.filter, rate=rate)
    return view.done(words.ANNOUNCEMENT, to=f"/changes/bulk/{started.id}")


@router.get("/changes/bulk/{bulk_action_id:int}")
async def show_bulk_action(view: Reading, bulk_action_id: PathId) -> Response:
    """Show a bulk action with its progress."""
    action = await view.services.bulk_actions.get(bulk_action_id)
    return view.page(
        "changes/bulk.html",
        action=action,
        title=words.title_of(action),
        conditions=words.conditions_of(action.filter),
        tasks=words.tasks_address(action.filter),
        progress=words.progress_of(action),
        outcomes=words.outcomes_of(action),
        starts_in=max(0.0, (action.starts_at - datetime.now(UTC)).total_seconds()),
    )


@router.post("/changes/bulk/{bulk_action_id:int}/stop")
async def stop_bulk_action(view: Operating, bulk_action_id: PathId) -> Response:
    """Stop a bulk action, or withdraw it if it has not started."""
    action = await view.services.bulk_actions.stop(bulk_action_id)
    to = f"/changes/bulk/{bulk_action_id}"
    if action.state == "completed":
        return view.done("The bulk action had already completed.", to=to, tone="info")
    return view.done("Withdrawn. No task was changed." if action.state == "withdrawn" else "Stopped.", to=to)


def _readable(query: TaskQuery) -> TaskQuery:
    if query.problem is not None:
        raise FilterError(query.problem)
    return query
