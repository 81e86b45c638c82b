"""The first page: the state of the pool, problems first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import Response

from rolecall.model.access import Scope
from rolecall.model.history import Durations, HistoryPoint
from rolecall.web.dashboard.routing import Pages
from rolecall.web.dashboard.view import Reading

router = Pages()

SPANS = {10: "10 min", 60: "1 h", 360: "6 h", 1_440: "24 h", 10_080: "7 d"}


@router.get("/")
async def show_overview(view: Reading, minutes: int = 60) -> Response:
    """Show problems, figures, all roles, and plots of the last ten minutes to seven days."""
    found = await view.services.overview.show(minutes)
    privy = view.caller.scope.includes(Scope.OPERATE)
    return view.page(
        "overview/page.html",
        found=found,
        # Other sessions of the server are shown only to callers who can act on them.
        alerts=[alert for alert in found.alerts if privy or not alert.of_server],
        spans=SPANS,
        minutes=minutes,
        charts=_charts(found.history.points),
    )


def _charts(points: Sequence[HistoryPoint]) -> list[dict[str, Any]]:
    waits, runs = ([getattr(point, name) for point in points] for name in ("waiting", "running"))
    charts = (
        ("speed", "Finished tasks per second", "/s", [
            _series("completed", "good", [_rate(point, point.completed) for point in points], kind="area"),
            _series("failed", "bad", [_rate(point, point.failed) for point in points]),
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


def _series(label: str, tone: str, values: Sequence[float | None], kind: str = "line") -> dict[str, Any]:
    rounded = [None if value is None else float(f"{value:.4g}") for value in values]
    return {"label": label, "tone": tone, "kind": kind, "values": rounded}


def _rate(point: HistoryPoint, number: int | None) -> float | None:
    return None if number is None else number / point.seconds
