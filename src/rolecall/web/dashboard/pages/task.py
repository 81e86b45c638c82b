"""The page of one task, and the actions on it.

Each action is a form; some have a page of their own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Form, Query, Response

from rolecall.model.error_text import LONGEST_ERROR
from rolecall.model.errors import InvalidTask, TaskNotFound
from rolecall.model.operator.details import TaskDetail
from rolecall.model.operator.logs import LogFilter, StackReport
from rolecall.model.operator.why import CauseKind, Why
from rolecall.model.states import TaskState
from rolecall.model.tasks import TaskSummary
from rolecall.web.api.task_actions import DECADE, WEEK
from rolecall.web.dashboard.drawing.waterfall import Waterfall, draw_waterfall
from rolecall.web.dashboard.parts import is_late
from rolecall.web.dashboard.presenters.confirmations import before_cancelling, before_deleting
from rolecall.web.dashboard.presenters.logs import ShownLine, shown_lines
from rolecall.web.dashboard.presenters.task import (
    actions_on,
    attempts_in,
    failures_in,
    run_seconds,
    story_of,
    waiting_seconds,
)
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Operating, Reading, View, redirect
from rolecall.web.fields.parameters import LARGEST_ID, PathId
from rolecall.web.http.requests import root_of

router = Pages()

NOT_FOUND = 404
# Bytes of a payload or result that a page shows by default, and at most.
UNASKED = 32_768
MOST = 2**30
FULL = "full"
UNPROCESSABLE = 422
MOST_LINES = 300


Attempt = Annotated[int | None, Query(ge=1, le=2**31 - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLog:
    """The last log lines of a task, or of one attempt; `is_cut` if there are more, `attempts` is their number."""

    lines: Sequence[ShownLine]
    is_cut: bool
    attempt: int | None
    attempts: int


@router.get("/tasks/{task_id:int}")
async def show_task(  # sizes: the filters of its parts
    view: Reading, task_id: int, payload: str = "", children: str | None = None, attempt: Attempt = None
) -> Response:
    """Show a task with its history, or that it no longer exists."""
    try:
        return await _show(view, task_id, whole=payload == FULL, children=children or None, attempt=attempt)
    except TaskNotFound:
        return view.page("task/missing.html", NOT_FOUND, task_id=task_id)


async def _show(view: View, task_id: int, *, whole: bool, children: str | None, attempt: int | None) -> Response:
    if task_id > LARGEST_ID:
        raise TaskNotFound(task_id=task_id)
    most = MOST if whole else UNASKED
    detail = await view.services.tasks.detail(task_id, most=most, children_from=children)
    parts = await view.read(
        why=_find_why(view, detail.task),
        log=_read_log(view, detail.task, attempt),
        stack=_read_stack(view, detail.task),
        waterfall=_draw_waterfall(view, detail),
    )
    why = parts["why"]
    return view.page(
        "task/task.html",
        detail=detail,
        task=detail.task,
        holders=() if is_late(why) else _holders(why),
        whole=whole,
        **parts,
        actions=actions_on(detail.task),
        story=story_of(detail.timeline),
        failures=failures_in(detail.timeline),
        attempts=attempts_in(detail.attempts, detail.at),
        waited=waiting_seconds(detail.task, detail.at),
        ran=run_seconds(detail.task, detail.at),
    )


def _holders(why: Why | None) -> tuple[int, ...]:
    causes = why.causes if why is not None else ()
    return next((cause.tasks for cause in causes if cause.kind in {CauseKind.KEY_HELD, CauseKind.ONE_ROOT}), ())


async def _read_log(view: View, task: TaskSummary, attempt: int | None) -> TaskLog:
    which = LogFilter(attempt=attempt, limit=MOST_LINES + 1, last=True)
    lines = (await view.services.tasks.logs(task.id, which)).items
    return TaskLog(
        lines=shown_lines(lines[-MOST_LINES:]),
        is_cut=len(lines) > MOST_LINES,
        attempt=attempt,
        attempts=task.attempt,
    )


async def _read_stack(view: View, task: TaskSummary) -> StackReport | None:
    if task.state is not TaskState.RUNNING:
        return None
    try:
        report = await view.services.tasks.stack(task.id)
    except TaskNotFound:  # deleted meanwhile
        return None
    return report if report.attempt == task.attempt else None


async def _draw_waterfall(view: View, detail: TaskDetail) -> Waterfall | None:
    # An open task has no continuation yet.
    if not (detail.children.number or detail.task.chain_index or detail.task.is_finished):
        return None
    try:
        return draw_waterfall(await view.services.trees.relatives(detail.task.id))
    except TaskNotFound:  # deleted meanwhile
        return None


async def _find_why(view: View, task: TaskSummary) -> Why | None:
    if task.is_finished:
        return None
    try:
        return await view.services.tasks.why(task.id)
    except TaskNotFound:  # deleted meanwhile
        return None


Text = Annotated[str, Form()]
Lifetime = Annotated[float, Form(gt=0, le=DECADE, allow_inf_nan=False)]


@router.post("/tasks/{task_id:int}/retry")
async def retry(view: Operating, task_id: PathId) -> Response:
    """Make a failed or cancelled task pending again. Its id stays the same."""
    await view.services.tasks.retry_one(task_id)
    return view.done(f"Task {task_id} is pending again.")


@router.post("/tasks/{task_id:int}/cancel")
async def cancel(view: Operating, task_id: PathId) -> Response:
    """Cancel a task, including everything open below it. For a running task, cancellation is only requested."""
    await view.confirm(*before_cancelling(await view.services.tasks.detail(task_id, most=0)))
    running = await view.services.tasks.cancel_one(task_id) == "requested"
    return view.done(
        f"The cancellation of task {task_id} is requested." if running else f"Task {task_id} is cancelled."
    )


@router.post("/tasks/{task_id:int}/stack")
async def request_stack(view: Operating, task_id: PathId) -> Response:
    """Ask the worker of a running task for the current stack of its handler, and wait up to two seconds for it."""
    report = await view.services.tasks.request_stack(task_id)
    if report.outcome == "not_running":
        return view.done(f"Task {task_id} does not run any more.", tone="info")
    return redirect(f"{root_of(view.request.scope)}/tasks/{task_id}#stack")


@router.post("/tasks/{task_id:int}/trigger")
async def trigger(view: Operating, task_id: PathId) -> Response:
    """Make a pending task due now."""
    await view.services.tasks.trigger([task_id])
    return view.done(f"Task {task_id} is due now.")


@router.post("/tasks/{task_id:int}/delete")
async def delete(view: Operating, task_id: PathId) -> Response:
    """Delete a task that is a whole chain, including everything below it."""
    await view.confirm(*before_deleting(await view.services.tasks.detail(task_id, most=0)))
    gone = await view.services.tasks.delete_one(task_id)
    below = f", with {gone - 1} below it" if gone > 1 else ""
    return view.done(f"Task {task_id} is deleted{below}.", to="/tasks")


@router.get("/tasks/{task_id:int}/complete")
async def ask_result(view: Operating, task_id: PathId) -> Response:
    """Show the form for the result of a task."""
    return await _form(view, "complete", task_id)


@router.post("/tasks/{task_id:int}/complete")
async def complete(view: Operating, task_id: PathId, result: Text = "") -> Response:
    """Complete an open task without a worker."""
    try:
        await view.services.tasks.complete(task_id, _read(result))
    except InvalidTask as error:
        return await _form(view, "complete", task_id, typed=result, wrong=str(error))
    return view.done(f"Task {task_id} is completed.", to=f"/tasks/{task_id}")


@router.get("/tasks/{task_id:int}/fail")
async def ask_reason(view: Operating, task_id: PathId) -> Response:
    """Show the form for the error of a task."""
    return await _form(view, "fail", task_id)


@router.post("/tasks/{task_id:int}/fail")
async def fail(view: Operating, task_id: PathId, error: Text = "") -> Response:
    """Fail an open task without a worker and without another attempt."""
    if not error.strip() or len(error) > LONGEST_ERROR:
        wrong = f"A reason must have 1 to {LONGEST_ERROR:,} characters."
        return await _form(view, "fail", task_id, typed=error, wrong=wrong)
    await view.services.tasks.fail(task_id, error)
    return view.done(f"Task {task_id} has failed.", to=f"/tasks/{task_id}")


@router.get("/tasks/{task_id:int}/token")
async def ask_lifetime(view: Operating, task_id: PathId) -> Response:
    """Show the form for the lifetime of a token."""
    return await _form(view, "token", task_id)


@router.post("/tasks/{task_id:int}/token")
async def issue_token(view: Operating, task_id: PathId, seconds: Lifetime = WEEK) -> Response:
    """Create a completion token and show it once. It appears in no URL and no cookie."""
    token = await view.services.tasks.issue_token(task_id, seconds)
    return view.page("task/token_made.html", task_id=task_id, token=token.reveal(), seconds=seconds)


async def _form(view: View, kind: str, task_id: int, typed: str = "", wrong: str | None = None) -> Response:
    task = (await view.services.tasks.detail(task_id, most=0)).task
    return view.page("task/ask.html", UNPROCESSABLE if wrong else 200, kind=kind, task=task, typed=typed, wrong=wrong)


def _read(text: str) -> Any:
    if not text.strip():
        return None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidTask(f"this is not JSON: {error.msg} in line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise InvalidTask("this JSON is nested too deeply") from error
