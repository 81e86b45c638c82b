"""Plots of a history. A dragged span leads to its tasks, and marks show changes and starts of workers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from rolecall.model.audit import StoredAuditEvent
from rolecall.model.operator.history import Durations, History, HistoryPoint
from rolecall.model.operator.insight import RegisteredWorker
from rolecall.web.dashboard.formats import count
from rolecall.web.dashboard.presenters.changes import Change, changes_of

SPANS = {10: "10 min", 60: "1 h", 360: "6 h", 1_440: "24 h", 10_080: "7 d"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """An event at a moment of a plot; `path` is the page of the changed thing."""

    at: datetime
    text: str
    path: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"at": self.at.timestamp(), "text": self.text}


def charts_of(history: History, marks: Sequence[Mark] = ()) -> list[dict[str, Any]]:
    """Return the plots of a history, as arguments of the template's macro `line_chart`."""
    points = history.points
    waits, runs = ([getattr(point, name) for point in points] for name in ("waiting", "running"))
    completed, failed = ([_rate(point, getattr(point, name)) for point in points] for name in ("completed", "failed"))
    charts = (
        ("speed", "Completed tasks per second", "/s", "completed", [_series("completed", "good", completed, "area")]),
        ("failures", "Failed tasks per second", "/s", "failed", [_series("failed", "bad", failed, "area")]),
        ("waiting", "Waiting time", "s", "", _percentiles(waits)),
        ("running", "Run time", "s", "", _percentiles(runs)),
        ("backlog", "Open tasks", "count", None, [
            _series("ready", "accent", [point.ready_tasks for point in points], "area"),
            _series("running", "info", [point.running_tasks for point in points]),
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
            "tasks": None if state is None else _tasks_address(history.role, state),
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


def _tasks_address(role: str | None, state: str) -> str:
    return "/tasks?" + urlencode({name: value for name, value in (("role", role), ("state", state)) if value})


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
