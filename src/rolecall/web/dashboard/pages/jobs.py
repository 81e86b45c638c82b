"""The pages of the job queue: handlers, and a form that enqueues a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from secrets import token_urlsafe
from typing import Annotated, Any, Literal

from fastapi import Path, Query, Response

from rolecall.model.error_table import http_status_for
from rolecall.model.errors import RolecallError, TaskNotFound
from rolecall.model.handlers import DeclaredHandler
from rolecall.model.schedules import StoredSchedule
from rolecall.model.tasks import Enqueued, Task
from rolecall.web.dashboard.forms.task_form import NotReadable, TaskForm, payload_fields, skeleton, to_texts, typed_like
from rolecall.web.dashboard.presenters.lists import ListPage, PageNumber, page_of
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import OperatingOnce, Reading, View, redirect
from rolecall.web.fields.new_tasks import read_task
from rolecall.web.fields.parameters import LARGEST_ID, SearchText
from rolecall.web.state import state_of

router = Pages()

MOST_NEXT = 5
HANDLERS_A_PAGE = 50
Name = Annotated[str, Path(alias="handler")]
Way = Annotated[Literal["form", "json"], Query(alias="as")]
MaybeId = Annotated[int | None, Query(ge=1, le=LARGEST_ID)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A handler, its number of live workers, and whether its tasks can start a chain.

    `is_known` says whether this server has its code, and so validates payloads before they are stored.
    """

    handler: DeclaredHandler
    workers: int
    may_start: bool
    is_known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundHandlers:
    """A page of the handlers that match, and the number of all handlers."""

    offers: Sequence[Offer]
    page: ListPage[DeclaredHandler]
    declared: int


@router.get("/jobs")
async def show_jobs(view: Reading, q: SearchText = "", page: PageNumber = 1) -> Response:
    """Show handlers by role, page by page, and the next tasks of schedules."""
    parts = await view.read(handlers=_find_handlers(view, q, page), following=_following_schedules(view))
    return view.page("jobs/list.html", q=q, **parts)


@router.get("/jobs/{handler}")
async def show_form(  # sizes: the ways to fill the form
    view: Reading,
    name: Name,
    way: Way = "form",
    created: MaybeId = None,
    stood: MaybeId = None,
    like: MaybeId = None,
) -> Response:
    """Show the form of one handler. The query can fill its fields; `like` fills them from a task."""
    handler = await view.services.handlers.get(name)
    model = await _task(view, like)
    typed = view.request.query_params if model is None else typed_like(model, _signature(view, handler))
    form = _form(_signature(view, handler), way, typed)
    return await _page(view, handler, form, task=await _task(view, created or stood), stood=stood is not None)


@router.post("/jobs/{handler}")
async def create_task(view: OperatingOnce, name: Name, way: Way = "form") -> Response:
    """Enqueue a task, or show the form again with the problems."""
    handler = await view.services.handlers.get(name)
    typed = {field: str(text) for field, text in (await view.request.form()).items()}
    form = _form(_signature(view, handler), way, typed)
    try:
        enqueued = await _enqueue(view, handler, form)
    except NotReadable:
        return await _page(view, handler, form, status=422)
    except RolecallError as error:
        form.blame(error)
        return await _page(view, handler, form, status=http_status_for(error))
    outcome = "stood" if enqueued.deduplicated else "created"
    root = view.request.scope.get("root_path", "")
    return redirect(f"{root}/jobs/{name}?as={way}&{outcome}={enqueued.id}")


async def _find_handlers(view: View, q: str, page: int) -> FoundHandlers:
    declared = await view.services.handlers.list()
    shown = page_of([handler for handler in declared if _matches(handler, q)], page, HANDLERS_A_PAGE)
    offers = await _offers(view, shown.items)
    return FoundHandlers(offers=offers, page=shown, declared=len(declared))


async def _following_schedules(view: View) -> list[StoredSchedule]:
    schedules = [each for each in await view.services.schedules.list() if each.enabled]
    return sorted(schedules, key=attrgetter("next_run_at"))[:MOST_NEXT]


async def _enqueue(view: View, handler: DeclaredHandler, form: TaskForm) -> Enqueued:
    state = state_of(view.request)
    task = read_task(form.request(handler.name), state.app, state.names)
    return await view.services.tasks.enqueue(task)


def _signature(view: View, handler: DeclaredHandler) -> Mapping[str, Any] | None:
    """Return the schema that validates payloads here, or the stored one."""
    known = state_of(view.request).app.handlers.get(handler.name)
    return handler.signature if known is None else known.signature.schema


def _form(signature: Mapping[str, Any] | None, way: str, typed: Mapping[str, str]) -> TaskForm:
    fields = payload_fields(signature)
    if way == "json" or fields is None:
        return TaskForm(fields=None, typed={"payload": to_texts(skeleton(fields)), **typed})
    return TaskForm(fields=fields, typed=dict(typed))


async def _page(  # sizes: the parts of the page
    view: View,
    handler: DeclaredHandler,
    form: TaskForm,
    *,
    task: Task | None = None,
    stood: bool = False,
    status: int = 200,
) -> Response:
    [offer] = await _offers(view, [handler])
    return view.page(
        "jobs/form.html",
        status,
        offer=offer,
        handler=handler,
        form=form,
        way="form" if form.fields is not None else "json",
        has_fields=payload_fields(handler.signature) is not None,
        task=task,
        stood=stood,
        request_key=token_urlsafe(16),
    )


async def _task(view: View, task_id: int | None) -> Task | None:
    if task_id is None:
        return None
    try:
        return await view.services.tasks.get(task_id)
    except TaskNotFound:
        return None


async def _offers(view: View, handlers: Sequence[DeclaredHandler]) -> list[Offer]:
    coverage = await view.services.workers.coverage()
    known = state_of(view.request).app.handlers
    return [
        Offer(
            handler=handler,
            workers=coverage.workers(handler.role, [handler.name]),
            may_start=handler.name not in known or known[handler.name].links.entry,
            is_known=handler.name in known,
        )
        for handler in handlers
    ]


def _matches(handler: DeclaredHandler, text: str) -> bool:
    return text.strip().lower() in f"{handler.name} {handler.role} {handler.description}".lower()
