"""Plots of a history. A dragged span leads to its tasks, and marks show changes and starts of workers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from rolecall.model.audit import StoredAuditEvent
from rolecall.model.operator.history import Durations, History, HistoryPoint
from rolecall.model.operator.insight import RegisteredWorker
from rolecall.web.dashboard.formats import count
from rolecall.web.dashboard.presenters.changes import Change, changes_of

Figure = Callable[[HistoryPoint], float | None]

SPANS = {10: "10 min", 60: "1 h", 360: "6 h", 1_440: "24 h", 10_080: "7 d"}
DAYS_AGO = {1: "yesterday", 7: "last week"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """An event at a moment of a plot; `path` is the page of the changed thing."""

    at: datetime
    text: str
    path: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"at": self.at.timestamp(), "text": self.text}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a plot: a figure of each point. `earlier` is its name before "yesterday"."""

    label: str
    tone: str
    figure: Figure
    kind: str = "line"
    earlier: str = ""

    def at(self, when: str) -> Line:
        """Return the line of an earlier day."""
        return replace(self, label=f"{self.earlier}{when}", tone="faint", kind="line")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A plot of a history. `compared` is the line that is shown for earlier days too; `state` that of its tasks."""

    name: str
    title: str
    unit: str
    lines: Sequence[Line]
    compared: Line
    state: str | None = None


def _rate_of(state: str) -> Figure:
    def rate(point: HistoryPoint) -> float | None:
        number: int | None = getattr(point, state)
        return None if number is None else number / point.seconds

    return rate


def _speed(name: str, state: str, tone: str) -> Plot:
    line = Line(label=state, tone=tone, figure=_rate_of(state), kind="area")
    return Plot(
        name=name, title=f"{state.capitalize()} tasks per second", unit="/s", lines=[line], compared=line, state=state
    )


def _percentiles(
    name: str, title: str, durations: Callable[[HistoryPoint], Durations | None], state: str | None
) -> Plot:
    def percentile(rank: str) -> Figure:
        return lambda point: getattr(durations(point), rank, None)

    p50 = Line(label="median (p50)", tone="accent", figure=percentile("p50"))
    p95 = Line(label="95th percentile (p95)", tone="warn", figure=percentile("p95"), earlier="p95 ")
    return Plot(name=name, title=title, unit="s", lines=[p50, p95], compared=p95, state=state)


READY = Line(label="ready", tone="accent", figure=lambda point: point.ready_tasks, kind="area", earlier="ready ")
PLOTS = (
    _speed("speed", "completed", "good"),
    _speed("failures", "failed", "bad"),
    _percentiles("waiting", "Waiting time", lambda point: point.waiting, ""),
    _percentiles("running", "Run time", lambda point: point.running, ""),
    Plot(
        name="backlog",
        title="Open tasks",
        unit="count",
        lines=[READY, Line(label="running", tone="info", figure=lambda point: point.running_tasks)],
        compared=READY,
    ),
)


def charts_of(
    history: History, marks: Sequence[Mark] = (), earlier: Mapping[int, History] | None = None
) -> list[dict[str, Any]]:
    """Return the plots of a history, as arguments of the template's macro `line_chart`.

    `earlier` has the histories of the same period, by how many days ago it was.
    """
    x = [int(point.at.timestamp()) for point in history.points]
    shown = [mark.to_json() for mark in marks]
    compared = {DAYS_AGO[days]: _aligned(history, past, days) for days, past in (earlier or {}).items()}
    return [
        {
            "id": f"chart-{plot.name}",
            "title": plot.title,
            "unit": plot.unit,
            "x": x,
            "series": [
                *(_series(line, history.points) for line in plot.lines),
                *(_series(plot.compared.at(when), points) for when, points in compared.items()),
            ],
            "marks": shown,
            "tasks": None if plot.state is None else _tasks_address(history.role, plot.state),
            "step": history.step_seconds,
        }
        for plot in PLOTS
    ]


def earlier_days(minutes: int) -> Sequence[int]:
    """Return how many days ago the periods begin that a history of some minutes is compared with."""
    return [days for days in DAYS_AGO if minutes <= days * 1_440]


def _aligned(history: History, past: History, days: int) -> list[HistoryPoint | None]:
    """Return the past point at the time of each point, some days earlier."""
    begin, step = past.points[0].at, timedelta(seconds=past.step_seconds)
    places = ((point.at - timedelta(days=days) - begin) // step for point in history.points)
    return [past.points[place] if 0 <= place < len(past.points) else None for place in places]


def marks_of(history: History, changes: Sequence[StoredAuditEvent], workers: Iterable[RegisteredWorker]) -> list[Mark]:
    """Return the marks of a history's plots, newest first: these changes, and the starts of these workers."""
    marks = [*map(_change, changes_of(changes, {})), *_starts(history, workers)]
    return sorted((mark for mark in marks if mark.at >= history.points[0].at), key=lambda mark: mark.at, reverse=True)


def _change(change: Change) -> Mark:
    words = (change.event.actor, change.verb, change.thing, change.rest)
    return Mark(at=change.event.at, text=" ".join(filter(None, words)), path=change.path)


def _starts(history: History, workers: Iterable[RegisteredWorker]) -> Iterator[Mark]:
    """Yield the starts of workers, one mark for all workers that started within the same point."""
    by_point: dict[int, list[RegisteredWorker]] = defaultdict(list)
    known: set[str] = set()
    begin = history.points[0].at
    for worker in sorted(workers, key=lambda worker: worker.started_at):
        if worker.started_at >= begin:
            by_point[int((worker.started_at - begin).total_seconds()) // history.step_seconds].append(worker)
        elif worker.release:
            known.add(worker.release)
    for started in by_point.values():
        releases = {worker.release for worker in started if worker.release}
        is_new = bool(known) and not releases <= known
        known |= releases
        number = "1 worker" if len(started) == 1 else f"{count(len(started))} workers"
        text = f"{number} started{' with a new release' if is_new else ''}"
        yield Mark(at=started[0].started_at, text=text, path="/admin/workers")


def _tasks_address(role: str | None, state: str) -> str:
    return "/tasks?" + urlencode({name: value for name, value in (("role", role), ("state", state)) if value})


def _series(line: Line, points: Iterable[HistoryPoint | None]) -> dict[str, Any]:
    values = (None if point is None else line.figure(point) for point in points)
    rounded = [None if value is None else float(f"{value:.4g}") for value in values]
    return {"label": line.label, "tone": line.tone, "kind": line.kind, "values": rounded}
