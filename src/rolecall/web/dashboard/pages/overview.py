"""The first page: the state of the pool, problems first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from fastapi import Response

from rolecall.model.operator.access import Scope
from rolecall.model.operator.history import Durations, HistoryPoint
from rolecall.model.operator.overview import Alert
from rolecall.web.dashboard.presenters.roles import longest_waiting, outlook_table
from rolecall.web.dashboard.presenters.tables import AskedTable
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Reading, View

router = Pages()

SPANS = {10: "10 min", 60: "1 h", 360: "6 h", 1_440: "24 h", 10_080: "7 d"}


@router.get("/")
async def show_overview(view: Reading, table: AskedTable, minutes: int = 60) -> Response:
    """Show problems, figures, all roles, and plots of the last ten minutes to seven days."""
    overview = view.services.overview
    # A refresh of the roles needs nothing else.
    rest = (
        {"problems": _problems(view), "figures": overview.figures(), "history": overview.history(minutes)}
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
        charts_of=_charts,
    )


async def _problems(view: View) -> tuple[list[Alert], bool]:
    """Return the problems. Other sessions of the server are shown only to callers who can act on them."""
    alerts, examined = await view.services.overview.alerts()
    privy = view.caller.scope.includes(Scope.OPERATE)
    return [alert for alert in alerts if privy or not alert.of_server], examined


def _charts(points: Sequence[HistoryPoint]) -> list[dict[str, Any]]:
    waits, runs = ([getattr(point, name) for point in points] for name in ("waiting", "running"))
    charts = (
        ("speed", "Finished tasks per second", "/s", [
            _series("completed", "good", [_rate(point, point.completed) for point in points], kind="area"),
            # Few failures would be a flat line on the axis of completions.
            _series("failed (right axis)", "bad", [_rate(point, point.failed) for point in points], axis="right"),
        ]),
        ("waiting", "Waiting time", "s", _percentiles(waits)),
        ("running", "Run time", "s", _percentiles(runs)),
        ("backlog", "Open tasks", "count", [
            _series("ready", "accent", [point.ready_tasks for point in points], kind="area"),
            _series("running", "info", [point.running_tasks for point in points]),
        ]),
    )  # fmt: skip
    x = [int(point.at.timestamp()) for point in points]
    return [
        {"id": name, "title": title, "unit": unit, "x": x, "series": series} for name, title, unit, series in charts
    ]


def _percentiles(durations: Sequence[Durations | None]) -> list[dict[str, Any]]:
    return [
        _series("median (p50)", "accent", [each.p50 if each else None for each in durations]),
        _series("95th percentile (p95)", "warn", [each.p95 if each else None for each in durations]),
    ]


def _series(
    label: str, tone: str, values: Sequence[float | None], kind: str = "line", axis: str = "y"
) -> dict[str, Any]:
    rounded = [None if value is None else float(f"{value:.4g}") for value in values]
    return {"label": label, "tone": tone, "kind": kind, "axis": axis, "values": rounded}


def _rate(point: HistoryPoint, number: int | None) -> float | None:
    return None if number is None else number / point.seconds
