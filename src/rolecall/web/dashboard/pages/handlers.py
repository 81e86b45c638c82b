"""The page of a handler: the parts of its role's page for its tasks alone, its errors, and its settings."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Response

from rolecall.model.operator.error_groups import ErrorGroup, ErrorGroupFilter
from rolecall.service.plots import PlotScope
from rolecall.web.dashboard.pages.plots import SPANS, read_plots
from rolecall.web.dashboard.pages.work import read_work
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Reading, View

router = Pages()

TOP_ERRORS = 5
LATEST_ERRORS = 100
Name = Annotated[str, Path(alias="handler")]


@router.get("/handlers/{handler}")
async def show_handler(view: Reading, name: Name, *, minutes: int = 60, compare: bool = False) -> Response:
    """Show one handler: its plots of the last ten minutes to seven days, its tasks, its errors and its settings."""
    handler = await view.services.handlers.get(name)
    parts = await view.read(
        role=view.services.roles.get(handler.role),
        plots=read_plots(view, PlotScope(role=handler.role, handler=name, minutes=minutes), compare=compare),
        work=read_work(view, handler.role, name),
        errors=_top_errors(view, name),
    )
    return view.page("roles/handler.html", handler=handler, spans=SPANS, minutes=minutes, compare=compare, **parts)


async def _top_errors(view: View, name: str) -> list[ErrorGroup]:
    """Return the new errors with the most failures within the last 24 hours, among the latest ones."""
    which = ErrorGroupFilter(states=["new"], handler=name, limit=LATEST_ERRORS)
    found = await view.services.error_groups.list(which)
    return sorted(found.items, key=lambda group: sum(group.hours), reverse=True)[:TOP_ERRORS]
