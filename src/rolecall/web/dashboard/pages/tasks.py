"""The page of tasks: a list with filters and pages in its URL, the recovery of stale tasks, and actions on the
selected tasks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

from fastapi import Form, Request, Response

from rolecall.model.errors import ConfigError, FilterError
from rolecall.model.operator.insight import BulkAction
from rolecall.model.operator.pages import Page
from rolecall.model.operator.saved_views import SavedView
from rolecall.model.operator.task_query import LONGEST, write_query_with_ages
from rolecall.model.tasks import TaskSummary
from rolecall.service.saved_views import LONGEST_NAME
from rolecall.service.services import Services
from rolecall.service.tasks import Tasks
from rolecall.web.dashboard.forms.task_query import TaskQuery, read_query
from rolecall.web.dashboard.parts import is_late
from rolecall.web.dashboard.presenters.confirmations import before_selected, summarize
from rolecall.web.dashboard.presenters.lists import StateTab, derived_tabs, state_tabs
from rolecall.web.dashboard.presenters.suggestions import view_path
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Operating, Reading, View, redirect
from rolecall.web.fields.parameters import Id
from rolecall.web.http.requests import root_of

router = Pages()

UNPROCESSABLE = 422
MOST_NAMED = 10
MOST_SELECTED = 500
# Saved views that are links above the list; the page of views has the others.
SHOWN_VIEWS = 12

Verb = Callable[[Tasks, Sequence[int]], Awaitable[Mapping[int, str]]]
VERBS: Mapping[BulkAction, Verb] = {"retry": Tasks.retry, "cancel": Tasks.cancel, "delete": Tasks.delete}


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTasks:
    """A page of tasks, and which of them have children; `problem` is set if the filter is invalid.

    `examined_since` is set if the search has ended before the page was full: tasks from then on were examined.
    """

    page: Page[TaskSummary] = field(default_factory=lambda: Page(items=[]))
    parents: frozenset[int] = frozenset()
    examined_since: datetime | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCounts:
    """The tabs of states with their numbers of tasks, and the roles that have tasks."""

    tabs: Sequence[StateTab]
    roles: Sequence[str]


@router.get("/tasks")
async def list_tasks(view: Reading, request: Request, cursor: str | None = None) -> Response:
    """Show the tasks that match the query, newest first. A query that is an id leads to the task."""
    typed = request.query_params.get("q", "").strip()
    if typed.isascii() and typed.isdigit():
        return redirect(f"{root_of(request.scope)}/tasks/{typed}")
    query = read_query(request.query_params, cursor=cursor)
    parts = await view.read(
        found=_find(view.services, query), counts=_count(view.services, query), views=_saved_views(view)
    )
    found = parts["found"]
    return view.page(
        "tasks/list.html",
        200 if is_late(found) or found.problem is None else UNPROCESSABLE,
        query=query,
        cursor=cursor,
        finer=derived_tabs(query.filter.state),
        is_filtered=bool(query.words),
        typed=typed,
        to_save="" if query.problem is not None else write_query_with_ages(query.filter, typed),
        view_path=view_path,
        shown_views=SHOWN_VIEWS,
        longest_name=LONGEST_NAME,
        longest=LONGEST,
        **parts,
    )


@router.post("/tasks/recover-stale")
async def recover_stale(view: Operating) -> Response:
    """Release the tasks whose leases have expired. They become pending, or failed if no attempt is left."""
    became = await view.services.maintenance.rescue()
    if not became:
        return view.done("No task is stale: no lease has expired.", tone="info")
    states = ", ".join(f"{number} {state}" for state, number in sorted(Counter(became.values()).items()))
    named = ", ".join(map(str, list(became)[:MOST_NAMED])) + (", …" if len(became) > MOST_NAMED else "")
    return view.done(f"Recovered {len(became)} stale {'task' if len(became) == 1 else 'tasks'}: {states} ({named}).")


async def _saved_views(view: View) -> Sequence[SavedView]:
    # A refresh of the list does not contain them.
    return await view.services.saved_views.list() if view.wants("views") else ()


async def _count(services: Services, query: TaskQuery) -> TaskCounts:
    counts = await services.insight.counts()
    roles = query.word("role").split(",") if query.word("role") else ()
    return TaskCounts(
        tabs=state_tabs(counts, roles, query.filter.state),
        roles=sorted({each.role for each in counts} | set(query.words.get("role", ()))),
    )


async def _find(services: Services, query: TaskQuery) -> FoundTasks:
    if query.problem is not None:
        return FoundTasks(problem=query.problem)
    try:
        page = await services.tasks.list(query.filter)
    except (ConfigError, FilterError) as error:
        return FoundTasks(problem=str(error))
    cursor = page.next_cursor if len(page.items) < query.filter.limit else None
    return FoundTasks(
        page=page,
        parents=await services.tasks.parents_among([task.id for task in page.items]),
        examined_since=None if cursor is None else await services.tasks.examined_since(cursor),
    )


Ids = Annotated[list[Id], Form(max_length=MOST_SELECTED)]


@router.post("/tasks/selected")
async def change_selected(view: Operating, action: Annotated[BulkAction, Form()], id: Ids = []) -> Response:  # noqa: A002, B006 - the field's name; FastAPI copies it
    """Retry, cancel or delete the selected tasks."""
    if not id:
        return view.done("Nothing is selected.", tone="info")
    parents = await view.services.tasks.parents_among(id)
    await view.confirm(*before_selected(action, id, parents))
    outcomes = await VERBS[action](view.services.tasks, id)
    flash = summarize(action, Counter(outcomes.values()))
    return view.done(flash.text, tone=flash.tone)
