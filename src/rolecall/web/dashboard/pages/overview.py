"""The first page: the state of the pool, problems first."""

from __future__ import annotations

from functools import partial

from fastapi import Response

from rolecall.model.operator.access import Scope
from rolecall.model.operator.history import History
from rolecall.model.operator.overview import Alert
from rolecall.web.dashboard.presenters.charts import SPANS, Mark, charts_of, earlier_days, marks_of
from rolecall.web.dashboard.presenters.roles import longest_waiting, outlook_table
from rolecall.web.dashboard.presenters.tables import AskedTable
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Reading, View

router = Pages()


@router.get("/")
async def show_overview(view: Reading, table: AskedTable, *, minutes: int = 60, compare: bool = False) -> Response:
    """Show problems, figures, all roles, and plots of the last ten minutes to seven days, also of earlier days."""
    overview = view.services.overview
    # A refresh of the roles needs nothing else.
    rest = (
        {
            "problems": _problems(view),
            "figures": overview.figures(),
            "history": overview.history(minutes),
            "marks": _marks(view, minutes),
            "earlier": _earlier(view, minutes, compare=compare),
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
        charts_of=charts_of,
    )


async def _marks(view: View, minutes: int) -> list[Mark]:
    """Return the marks of the plots. Changes are shown only to callers who can act."""
    overview = view.services.overview
    changes = await overview.changes(minutes) if view.caller.scope.includes(Scope.OPERATE) else ()
    return marks_of(await overview.history(minutes), changes, await overview.workers())


async def _earlier(view: View, minutes: int, *, compare: bool) -> dict[int, History]:
    if not compare:
        return {}
    return {days: await view.services.overview.history(minutes, days) for days in earlier_days(minutes)}


async def _problems(view: View) -> tuple[list[Alert], bool]:
    """Return the problems. Other sessions of the server are shown only to callers who can act on them."""
    alerts, examined = await view.services.overview.alerts()
    privy = view.caller.scope.includes(Scope.OPERATE)
    return [alert for alert in alerts if privy or not alert.of_server], examined
