"""Plots of a history. A dragged span leads to its tasks, and marks show changes and starts of workers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from rolecall.model.audit import StoredAuditEvent
from rolecall.model.operator.history import Durations, EarlierHistory, History, HistoryPoint
from rolecall.model.operator.insight import RegisteredWorker
from rolecall.web.dashboard.formats import count
from rolecall.web.dashboard.presenters.changes import Change, changes_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """An event at a moment of a plot; `path` is the page of the changed thing."""

    at: datetime
    text: str
    path: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"at": self.at.timestamp(), "text": self.text}


def charts_of(
    history: History, marks: Sequence[Mark] = (), earlier: Sequence[EarlierHistory] = ()
) -> list[dict[str, Any]]:
    """Return the plots of a history, as arguments of the template's macro `line_chart`.

    The same time of earlier days is shown as faint lines.
    """
    points = history.points
    compared = _Earlier(points, earlier)
    charts = (
        ("speed", "Completed tasks per second", "/s", "completed", [
            _series("completed", "good", [_completed(point) for point in points], "area"),
            *compared.series("", _completed),
        ]),
        ("failures", "Failed tasks per second", "/s", "failed", [
            _series("failed", "bad", [_failed(point) for point in points], "area"),
            *compared.series("", _failed),
        ]),
        ("waiting", "Waiting time", "s", "", [
            *_percentiles([point.waiting for point in points]),
            *compared.series("p95 ", lambda point: point.waiting.p95 if point.waiting else None),
        ]),
        ("running", "Run time", "s", "", [
            *_percentiles([point.running for point in points]),
            *compared.series("p95 ", lambda point: point.running.p95 if point.running else None),
        ]),
        ("backlog", "Open tasks", "count", None, [
            _series("ready", "accent", [point.ready_tasks for point in points], "area"),
            _series("running", "info", [point.running_tasks for point in points]),
            *compared.series("ready ", lambda point: point.ready_tasks),
        ]),
    )  # fmt: skip
    x = [int(point.at.timestamp()) for point in points]
    shown = [mark.to_json() for mark in marks]
    return [
        {
            "id": f"chart-{name}",
            "title": title,
            "unit": unit,
            "x": x,
            "series": series,
            "marks": shown,
            "tasks": None if state is None else _tasks_address(history, state),
            "step": history.step_seconds,
        }
        for name, title, unit, state, series in charts
    ]


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


def _tasks_address(history: History, state: str) -> str:
    words = (("role", history.role), ("handler", history.handler), ("state", state))
    return "/tasks?" + urlencode({name: value for name, value in words if value})


class _Earlier:
    """The points of earlier days that belong to the points of a plot."""

    def __init__(self, points: Sequence[HistoryPoint], earlier: Sequence[EarlierHistory]) -> None:
        moments = [point.at for point in points]
        self._points = {each.label: each.points_at(moments) for each in earlier}

    def series(self, prefix: str, figure: Callable[[HistoryPoint], float | None]) -> list[dict[str, Any]]:
        """Return a faint line for each day that has figures."""
        values = {label: [figure(point) if point else None for point in found] for label, found in self._points.items()}
        return [
            _series(prefix + label, "faint", found)
            for label, found in values.items()
            if any(value is not None for value in found)
        ]


def _percentiles(durations: Sequence[Durations | None]) -> list[dict[str, Any]]:
    return [
        _series("median (p50)", "accent", [each.p50 if each else None for each in durations]),
        _series("95th percentile (p95)", "warn", [each.p95 if each else None for each in durations]),
    ]


def _series(label: str, tone: str, values: Sequence[float | None], kind: str = "line") -> dict[str, Any]:
    rounded = [None if value is None else float(f"{value:.4g}") for value in values]
    return {"label": label, "tone": tone, "kind": kind, "values": rounded}


def _completed(point: HistoryPoint) -> float | None:
    return None if point.completed is None else point.completed / point.seconds


def _failed(point: HistoryPoint) -> float | None:
    return None if point.failed is None else point.failed / point.seconds
