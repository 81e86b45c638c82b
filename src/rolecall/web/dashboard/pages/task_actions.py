"""What can be done with one task: each a form, those that need words a page that asks for them."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import Form, Response

from rolecall.model.errors import InvalidTask
from rolecall.web.api.task_actions import DECADE, LONGEST_ERROR, WEEK
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.telling.questions import before_cancelling, before_deleting
from rolecall.web.dashboard.view import Operating, View
from rolecall.web.parameters import PathId

router = Pages()

UNPROCESSABLE = 422
Text = Annotated[str, Form()]
Lifetime = Annotated[float, Form(gt=0, le=DECADE, allow_inf_nan=False)]


@router.post("/tasks/{task_id:int}/retry")
async def retry(view: Operating, task_id: PathId) -> Response:
    """Put a failed or cancelled task back, under its old id."""
    await view.services.tasks.retry_one(task_id)
    return view.done(f"Task {task_id} is back in line.")


@router.post("/tasks/{task_id:int}/cancel")
async def cancel(view: Operating, task_id: PathId) -> Response:
    """Cancel a task, with what is open below it; one that runs is told to stop."""
    await view.confirm(*before_cancelling(await view.services.tasks.detail(task_id, most=0)))
    running = await view.services.tasks.cancel_one(task_id) == "requested"
    return view.done(f"Task {task_id} is told to stop." if running else f"Task {task_id} is cancelled.")


@router.post("/tasks/{task_id:int}/trigger")
async def trigger(view: Operating, task_id: PathId) -> Response:
    """Make a pending task due now."""
    await view.services.tasks.trigger([task_id])
    return view.done(f"Task {task_id} is due now.")


@router.post("/tasks/{task_id:int}/delete")
async def delete(view: Operating, task_id: PathId) -> Response:
    """Delete a task that is the whole of its chain, with what is below it."""
    await view.confirm(*before_deleting(await view.services.tasks.detail(task_id, most=0)))
    gone = await view.services.tasks.delete_one(task_id)
    below = f", and {gone - 1} below it" if gone > 1 else ""
    return view.done(f"Task {task_id} is deleted{below}.", to="/tasks")


@router.get("/tasks/{task_id:int}/complete")
async def ask_result(view: Operating, task_id: PathId) -> Response:
    """Ask with which result the task is to be completed."""
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
    """Ask why the task is to fail."""
    return await _form(view, "fail", task_id)


@router.post("/tasks/{task_id:int}/fail")
async def fail(view: Operating, task_id: PathId, error: Text = "") -> Response:
    """Fail an open task for good, without a worker."""
    if not error.strip() or len(error) > LONGEST_ERROR:
        wrong = f"A reason has between 1 and {LONGEST_ERROR:,} characters."
        return await _form(view, "fail", task_id, typed=error, wrong=wrong)
    await view.services.tasks.fail(task_id, error)
    return view.done(f"Task {task_id} has failed.", to=f"/tasks/{task_id}")


@router.get("/tasks/{task_id:int}/token")
async def ask_lifetime(view: Operating, task_id: PathId) -> Response:
    """Ask how long a token is to live."""
    return await _form(view, "token", task_id)


@router.post("/tasks/{task_id:int}/token")
async def issue_token(view: Operating, task_id: PathId, seconds: Lifetime = WEEK) -> Response:
    """Make a secret that ends the task once, from outside, and show it once: in no address, and in no cookie."""
    token = await view.services.tasks.issue_token(task_id, seconds)
    return view.page("task/token_made.html", task_id=task_id, token=token.reveal(), seconds=seconds)


async def _form(view: View, kind: str, task_id: int, typed: str = "", wrong: str | None = None) -> Response:
    task = (await view.services.tasks.detail(task_id, most=0)).task
    return view.page(f"task/{kind}.html", UNPROCESSABLE if wrong else 200, task=task, typed=typed, wrong=wrong)


def _read(text: str) -> Any:
    if not text.strip():
        return None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidTask(f"this is no JSON: {error.msg} in line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise InvalidTask("this JSON is nested too deeply") from error
