"""The task queue: a list that is filtered, searched and paged by its address, and the recovery of stale tasks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from fastapi import Request, Response

from rolecall.model.errors import ConfigError, FilterError
from rolecall.model.pages import Page
from rolecall.model.tasks import TaskSummary
from rolecall.service.services import Services
from rolecall.web.dashboard.forms.asked_tasks import AskedTasks, asked_by
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.telling.state_tabs import finer_tabs, state_tabs
from rolecall.web.dashboard.view import Operating, Reading

router = Pages()

UNPROCESSABLE = 422
MOST_NAMED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A page of tasks, and which of them have children; `problem` says why there is none."""

    page: Page[TaskSummary] = field(default_factory=lambda: Page(items=[]))
    parents: frozenset[int] = frozenset()
    problem: str | None = None


@router.get("/tasks")
async def list_tasks(view: Reading, request: Request, cursor: str | None = None) -> Response:
    """Show the tasks that the address asks for, the newest first."""
    asked = asked_by(request.query_params, cursor=cursor)
    found = await _find(view.services, asked)
    counts = await view.services.insight.counts()
    return view.page(
        "tasks/list.html",
        200 if found.problem is None else UNPROCESSABLE,
        asked=asked,
        found=found,
        cursor=cursor,
        tabs=state_tabs(counts, asked.word("role") or None, asked.which.state),
        finer=finer_tabs(asked.which.state),
        roles=sorted({each.role for each in counts} | set(asked.words.get("role", ()))),
        following=found.page.next_cursor and asked.query(cursor=found.page.next_cursor),
        is_filtered=bool(asked.words),
        nothing_at_all=not counts,
    )


@router.post("/tasks/recover-stale")
async def recover_stale(view: Operating) -> Response:
    """Release the tasks whose lease ran out: pending again, or failed where no attempt is left."""
    became = await view.services.maintenance.rescue()
    if not became:
        return view.done("No task is stale: the lease of every running one stands.", tone="info")
    told = ", ".join(f"{number} {state}" for state, number in sorted(Counter(became.values()).items()))
    named = ", ".join(map(str, list(became)[:MOST_NAMED])) + (", …" if len(became) > MOST_NAMED else "")
    return view.done(f"Recovered {len(became)} stale {'task' if len(became) == 1 else 'tasks'}: {told} ({named}).")


async def _find(services: Services, asked: AskedTasks) -> Found:
    if asked.problem is not None:
        return Found(problem=asked.problem)
    try:
        page = await services.tasks.list(asked.which)
    except (ConfigError, FilterError) as error:
        return Found(problem=str(error))
    return Found(page=page, parents=await services.tasks.parents_among([task.id for task in page.items]))
