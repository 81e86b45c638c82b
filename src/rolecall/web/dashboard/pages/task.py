"""One task: everything that is known of it."""

from __future__ import annotations

from fastapi import Response

from rolecall.model.errors import TaskNotFound
from rolecall.model.why import CauseKind, Why
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.telling.task_actions import actions_on
from rolecall.web.dashboard.telling.task_story import failures_in, ran_for, story_of, waited_for
from rolecall.web.dashboard.view import Reading, View
from rolecall.web.parameters import LARGEST_ID

router = Pages()

NOT_FOUND = 404
# What a page shows of a payload or a result unasked, in bytes; and what it shows at most.
UNASKED = 32_768
MOST = 2**30
FULL = "full"


@router.get("/tasks/{task_id:int}")
async def show_task(view: Reading, task_id: int, payload: str = "", children: str | None = None) -> Response:
    """Show a task with all that happened to it; one that is not there any more says so."""
    try:
        return await _show(view, task_id, whole=payload == FULL, children=children or None)
    except TaskNotFound:
        return view.page("task/missing.html", NOT_FOUND, task_id=task_id)


async def _show(view: View, task_id: int, *, whole: bool, children: str | None) -> Response:
    if task_id > LARGEST_ID:
        raise TaskNotFound(task_id=task_id)
    most = MOST if whole else UNASKED
    detail = await view.services.tasks.detail(task_id, most=most, children_from=children)
    why = await _why(view, task_id) if not detail.task.is_finished else None
    return view.page(
        "task/task.html",
        detail=detail,
        task=detail.task,
        why=why,
        holders=_holders(why),
        whole=whole,
        actions=actions_on(detail.task),
        story=story_of(detail.timeline),
        failures=failures_in(detail.timeline),
        waited=waited_for(detail.task, detail.at),
        ran=ran_for(detail.task, detail.at),
    )


def _holders(why: Why | None) -> tuple[int, ...]:
    causes = why.causes if why is not None else ()
    return next((cause.tasks for cause in causes if cause.kind in {CauseKind.KEY_HELD, CauseKind.ONE_ROOT}), ())


async def _why(view: View, task_id: int) -> Why | None:
    try:
        return await view.services.tasks.why(task_id)
    except TaskNotFound:  # deleted since it was read
        return None
