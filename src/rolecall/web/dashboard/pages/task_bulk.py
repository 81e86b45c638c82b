"""One action on many tasks: on those that are selected, or, once confirmed, on all that a filter finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated

from fastapi import Form, Query, Request, Response

from rolecall.model.errors import FilterError
from rolecall.model.insight import BulkAction
from rolecall.service.tasks import Tasks
from rolecall.web.api.task_actions import MOST_AT_ONCE
from rolecall.web.dashboard.forms.asked_tasks import AskedTasks, asked_by
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.telling.bulk import MEANINGS, told
from rolecall.web.dashboard.telling.questions import before_selected
from rolecall.web.dashboard.view import Operating
from rolecall.web.parameters import Id

router = Pages()

LIMITS = (100, 1_000, 10_000)
MOST_UNASKED = 1_000
MOST_SELECTED = 500
Verb = Callable[[Tasks, Sequence[int]], Awaitable[Mapping[int, str]]]
VERBS: Mapping[BulkAction, Verb] = {"retry": Tasks.retry, "cancel": Tasks.cancel, "delete": Tasks.delete}

Limit = Annotated[int, Query(ge=1, le=MOST_AT_ONCE)]
Ids = Annotated[list[Id], Form(max_length=MOST_SELECTED)]


@router.post("/tasks/selected")
async def do_to_selected(view: Operating, action: Annotated[BulkAction, Form()], id: Ids = []) -> Response:  # noqa: A002, B006 - the field's name; FastAPI copies it
    """Retry, cancel or delete the tasks that are selected."""
    if not id:
        return view.done("Nothing is selected.", tone="info")
    parents = await view.services.tasks.parents_among(id)
    await view.confirm(*before_selected(action, id, parents))
    outcomes = await VERBS[action](view.services.tasks, id)
    said = told(action, Counter(outcomes.values()))
    return view.done(said.text, tone=said.tone)


@router.get("/tasks/bulk")
async def ask_before_bulk(
    view: Operating, request: Request, action: BulkAction = "retry", limit: Limit = MOST_UNASKED
) -> Response:
    """Ask before all tasks that a filter finds are retried, cancelled or deleted, and say how many those are."""
    asked = _understood(asked_by(request.query_params))
    found = asked.words and await view.services.tasks.bulk(action, asked.which, limit=limit, dry_run=True)
    matter = {"asked": asked, "found": found, "limit": limit, "limits": LIMITS}
    return view.page("tasks/bulk.html", action=action, meaning=MEANINGS[action], **matter)


@router.post("/tasks/bulk")
async def do_to_found(
    view: Operating,
    request: Request,
    action: Annotated[BulkAction, Form()],
    limit: Annotated[int, Form(ge=1, le=MOST_AT_ONCE)] = MOST_UNASKED,
) -> Response:
    """Retry, cancel or delete the newest of the tasks that a filter finds."""
    asked = _understood(asked_by(await request.form()))
    outcome = await view.services.tasks.bulk(action, asked.which, limit=limit)
    said = told(action, outcome.outcomes)
    return view.done(said.text, to=f"/tasks?{asked.query()}", tone=said.tone)


def _understood(asked: AskedTasks) -> AskedTasks:
    if asked.problem is not None:
        raise FilterError(asked.problem)
    return asked
