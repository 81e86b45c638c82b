"""The page of a handler: the parts of its role's page for its tasks alone, its keys, its workers, its errors, and its
settings.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Response

from rolecall.model.errors import HandlerNotFound
from rolecall.model.operator.error_groups import ErrorGroup, ErrorGroupFilter
from rolecall.model.operator.insight import TaskFilter
from rolecall.service.plots import PlotScope
from rolecall.web.dashboard.pages.plots import SPANS, read_plots
from rolecall.web.dashboard.pages.work import read_crew, read_keys, read_work
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Reading, View

router = Pages()

TOP_ERRORS = 5
LATEST_ERRORS = 100
Name = Annotated[str, Path(alias="handler")]


@router.get("/handlers/{handler}")
async def show_handler(view: Reading, name: Name, *, minutes: int = 60, compare: bool = False) -> Response:
    """Show one handler: its plots of the last ten minutes to seven days, its tasks, its errors and its settings.

    A handler that is not declared any more is shown if tasks or errors of it are stored.
    """
    try:
        handler = await view.services.handlers.get(name)
    except HandlerNotFound:
        former = await _show_former(view, name, minutes=minutes, compare=compare)
        if former is None:
            raise
        return former
    parts = await view.read(
        role=view.services.roles.get(handler.role),
        plots=read_plots(view, PlotScope(role=handler.role, handler=name, minutes=minutes), compare=compare),
        work=read_work(view, handler.role, name),
        keys=read_keys(view, handler.role, name),
        crew=read_crew(view, handler.role, [name]),
        errors=_top_errors(view, name),
    )
    return view.page("roles/handler.html", handler=handler, spans=SPANS, minutes=minutes, compare=compare, **parts)


async def _show_former(view: View, name: str, *, minutes: int, compare: bool) -> Response | None:
    """Show a handler without a declaration; None if nothing of it is stored."""
    latest = (await view.services.tasks.list(TaskFilter(handler=name, limit=1))).items
    errors = (await view.services.error_groups.list(ErrorGroupFilter(handler=name, limit=TOP_ERRORS))).items
    if not latest and not errors:
        return None
    role = latest[0].role if latest else None
    parts = (
        {}
        if role is None
        else await view.read(
            plots=read_plots(view, PlotScope(role=role, handler=name, minutes=minutes), compare=compare),
            work=read_work(view, role, name),
        )
    )
    return view.page(
        "roles/former_handler.html",
        name=name,
        role=role,
        errors=errors,
        spans=SPANS,
        minutes=minutes,
        compare=compare,
        **parts,
    )


async def _top_errors(view: View, name: str) -> list[ErrorGroup]:
    """Return the new errors with the most failures within the last 24 hours, among the latest ones."""
    which = ErrorGroupFilter(states=["new"], handler=name, limit=LATEST_ERRORS)
    found = await view.services.error_groups.list(which)
    return sorted(found.items, key=lambda group: sum(group.hours), reverse=True)[:TOP_ERRORS]
