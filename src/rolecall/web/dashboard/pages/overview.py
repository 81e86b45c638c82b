"""The first page: the state of the pool, problems first."""

from __future__ import annotations

from functools import partial

from fastapi import Response

from rolecall.model.operator.overview import Alert
from rolecall.service.alerts import visible_to
from rolecall.service.plots import PlotScope
from rolecall.web.dashboard.pages.plots import SPANS, PagePlots, read_plots
from rolecall.web.dashboard.presenters.roles import longest_waiting, outlook_table
from rolecall.web.dashboard.presenters.tables import AskedTable
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Reading, View

router = Pages()


@router.get("/")
async def show_overview(view: Reading, table: AskedTable, *, minutes: int = 60, compare: bool = False) -> Response:
    """Show problems, figures, all roles, and plots of the last ten minutes to seven days."""
    overview = view.services.overview
    # A refresh of the roles needs nothing else.
    rest = (
        {
            "problems": _problems(view),
            "figures": overview.figures(),
            "plots": _plots(view, minutes, compare=compare),
        }
        if view.wants("pool")
        else {}
    )
    found = await view.read(roles=overview.roles(), **rest)
    return view.page(
        "overview/page.html",
        wants=view.wants,
        found=found,
        table_of=partial(outlook_table, query=table),
        longest_waiting=longest_waiting,
        spans=SPANS,
        minutes=minutes,
        compare=compare,
    )


async def _plots(view: View, minutes: int, *, compare: bool) -> PagePlots:
    await view.services.overview.history(minutes)  # raises for other time ranges
    return await read_plots(view, PlotScope(minutes=minutes), compare=compare)


async def _problems(view: View) -> tuple[list[Alert], bool]:
    alerts, examined = await view.services.overview.alerts()
    return visible_to(view.caller.scope, alerts), examined
