"""The plots of the pages of the pool, of a role and of a handler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rolecall.model.operator.access import Scope
from rolecall.service.plots import PlotScope
from rolecall.web.dashboard.parts import is_late
from rolecall.web.dashboard.presenters.charts import Mark, charts_of, marks_of
from rolecall.web.dashboard.view import View

SPANS = {10: "10 min", 60: "1 h", 360: "6 h", 1_440: "24 h", 10_080: "7 d"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePlots:
    """The plots of a page and their marks; `is_known` is false until the history has begun."""

    charts: list[dict[str, Any]]
    marks: list[Mark]
    is_known: bool


async def read_plots(view: View, scope: PlotScope, *, compare: bool) -> PagePlots:
    """Return plots with marks, and with earlier times to compare. Changes are marked only for callers who can act."""
    overview = view.services.overview
    history = await overview.plots.history(scope)
    earlier = {"earlier": overview.plots.earlier(scope)} if compare else {}
    rest = await view.read(marks=_read_marks(view, scope), **earlier)
    marks, compared = (() if is_late(each) else each for each in (rest["marks"], rest.get("earlier", ())))
    return PagePlots(charts=charts_of(history, marks, compared), marks=list(marks), is_known=history.until is not None)


async def _read_marks(view: View, scope: PlotScope) -> list[Mark]:
    overview = view.services.overview
    changes = await overview.plots.changes(scope) if view.caller.scope.includes(Scope.OPERATE) else ()
    workers = await overview.workers()
    serving = [each for each in workers if scope.role is None or not each.roles or scope.role in each.roles]
    return marks_of(await overview.plots.history(scope), changes, serving)
