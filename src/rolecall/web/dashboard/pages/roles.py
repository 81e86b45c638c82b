"""The pages of roles: a table, one role with its settings, and pauses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import Form, Response

from rolecall.model.durations import read_duration
from rolecall.model.errors import ConfigError
from rolecall.model.operator.capacity import PlanRequest
from rolecall.service.plots import PlotScope
from rolecall.web.dashboard.pages.plots import SPANS, read_plots
from rolecall.web.dashboard.pages.work import read_crew, read_keys, read_work
from rolecall.web.dashboard.presenters.roles import RoleRow, role_rows, role_table
from rolecall.web.dashboard.presenters.tables import AskedTable, SortedTable, TableQuery
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Operating, Reading, View

router = Pages()

CHOICES: Mapping[str, str] = {"5 min": "5m", "30 min": "30m", "2 h": "2h", "1 day": "1d"}
DurationText = Annotated[str, Form(max_length=30)]


@router.get("/roles")
async def show_roles(view: Reading, table: AskedTable) -> Response:
    """Show all roles, or those whose name contains the text, the worst first."""
    return view.page("roles/list.html", **await view.read(table=_list_roles(view, table)))


async def _list_roles(view: View, query: TableQuery) -> SortedTable[RoleRow]:
    services = view.services
    snapshot, coverage = await services.progress.roles(), await services.workers.coverage()
    rows = role_rows(await services.roles.list(), snapshot.roles, await services.handlers.list(), coverage)
    return role_table(rows, query)


@router.get("/roles/{name}")
async def show_role(view: Reading, name: str, *, minutes: int = 60, compare: bool = False) -> Response:
    """Show one role: its tasks, its handlers, its settings, and plots of the last ten minutes to seven days."""
    services = view.services
    role = await services.roles.get(name)
    snapshot, coverage = await services.progress.roles(), await services.workers.coverage()
    [row] = role_rows([role], snapshot.roles, await services.handlers.list(), coverage)
    parts = await view.read(
        plots=read_plots(view, PlotScope(role=name, minutes=minutes), compare=compare),
        work=read_work(view, name),
        plan=services.capacity.plan(name, PlanRequest()),
        keys=read_keys(view, name),
        crew=read_crew(view, name, [handler.name for handler in row.handlers]),
    )
    return view.page("roles/one.html", row=row, choices=CHOICES, spans=SPANS, minutes=minutes, compare=compare, **parts)


@router.post("/roles/{name}/pause")
async def pause_role(view: Operating, name: str, duration: DurationText = "") -> Response:
    """Pause a role, for a duration or until it is resumed."""
    pause = await view.services.roles.pause(name, _seconds(duration.strip()))
    until = "until it is resumed" if pause.paused_until is None else f"for {duration.strip()}"
    return view.done(f"Role {name} is paused {until}; running tasks continue")


@router.post("/roles/{name}/resume")
async def resume_role(view: Operating, name: str) -> Response:
    """End the pause."""
    paused = await view.services.roles.resume(name)
    return view.done(f"Role {name} is resumed" if paused else f"Role {name} was not paused")


def _seconds(text: str) -> float | None:
    try:
        return read_duration(text) if text else None
    except ValueError as error:
        raise ConfigError(str(error), variable="duration", value=text) from None
