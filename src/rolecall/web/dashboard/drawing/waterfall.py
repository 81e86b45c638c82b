"""The waterfall of a task: one bar for each relative over time, light while it waits and dark while it runs.

Children of one handler and state share a row if the outline folds them. The critical path consists of the rows that
determine the end: from each task to its next one in the chain and to the child that ends last, and from there back to
the tasks that it needs. The slowest child of a row that several share stands for the others: its needs are those of the
row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from rolecall.model.operator.details import Relatives, SiblingGroup
from rolecall.model.tasks import TaskSummary
from rolecall.web.dashboard.drawing.tree_picture import Item, PhaseItem, TaskItem, items_of, key_of_phase, key_of_task
from rolecall.web.dashboard.formats import count, duration

# The width of the drawing and of its thinnest run, in units.
WIDTH, THINNEST = 1_000.0, 4.0
MOST_ROWS = 32
DEEPEST = 5

Span = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class WaterfallRow:
    """A task, or a group of siblings, with the SVG paths of its bar. `slowest` is the slowest task of a group."""

    name: str
    note: str
    href: str
    state: str
    depth: int
    words: str
    waiting: str
    running: str
    is_critical: bool
    is_here: bool
    slowest: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waterfall:
    """The rows in the order of the tree, their common time range, and the number of rows that are left out."""

    rows: Sequence[WaterfallRow]
    start: datetime
    end: datetime
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bar:
    """The content of a row, before its times become positions."""

    key: str
    depth: int
    shown: TaskSummary | SiblingGroup
    whole: Span
    runs: Sequence[Span]


def draw_waterfall(relatives: Relatives) -> Waterfall | None:
    """Draw a task with its relatives; None if it has none."""
    bars = list(_bars(relatives))
    if len(bars) < 2:  # noqa: PLR2004 - the task itself and a relative
        return None
    critical = _critical_keys(relatives, bars)
    start, end = min(bar.whole[0] for bar in bars), max(bar.whole[1] for bar in bars)
    shown = _most_important(bars, critical)
    here = key_of_task(relatives.outline.root.id)
    return Waterfall(
        rows=[_row(bar, (start, end), is_critical=bar.key in critical, is_here=bar.key == here) for bar in shown],
        start=start,
        end=end,
        left_out=len(bars) - len(shown),
    )


def _bars(relatives: Relatives) -> Iterator[_Bar]:
    for task in relatives.outline.preceding:
        yield _task_bar(task, 0, relatives)
    yield from _bars_below(items_of(relatives.outline), 0, relatives)


def _bars_below(item: Item, depth: int, relatives: Relatives) -> Iterator[_Bar]:
    if isinstance(item, PhaseItem):
        for group in relatives.groups:
            if (group.parent_id, group.handler) == (item.phase.parent_id, item.phase.handler):
                yield _group_bar(group, depth, relatives.at)
        return
    yield _task_bar(item.task, depth, relatives)
    for below in item.below:
        yield from _bars_below(below, depth if below.continues else depth + 1, relatives)


def _task_bar(task: TaskSummary, depth: int, relatives: Relatives) -> _Bar:
    end = task.finished_at or relatives.at
    attempts = relatives.attempts.get(task.id, ())
    runs = [(each.started_at, each.ended_at or end) for each in attempts if each.started_at is not None]
    if not attempts and task.started_at is not None:
        runs = [(task.started_at, end)]
    return _Bar(key=key_of_task(task.id), depth=depth, shown=task, whole=(min(task.created_at, end), end), runs=runs)


def _group_bar(group: SiblingGroup, depth: int, now: datetime) -> _Bar:
    end = group.finished_at or now
    runs = [] if group.started_at is None else [(group.started_at, end)]
    whole = (min(group.created_at, end), end)
    return _Bar(key=_key_of_group(group), depth=depth, shown=group, whole=whole, runs=runs)


def _key_of_group(group: SiblingGroup) -> str:
    return f"{key_of_phase(group.parent_id, group.handler)}:{group.state}"


def _critical_keys(relatives: Relatives, bars: Sequence[_Bar]) -> set[str]:
    """Return the keys of the rows that determine the end."""
    ends = {bar.key: bar.whole[1] for bar in bars}
    root = items_of(relatives.outline)
    found = {key_of_task(task.id) for task in relatives.outline.preceding}
    _add_critical(root, _needed_keys(relatives, ends), ends, found)
    return found


def _needed_keys(relatives: Relatives, ends: Mapping[str, datetime]) -> dict[str, set[str]]:
    """Return the keys of the rows that each row needs."""
    group_of = {group.slowest_id: _key_of_group(group) for group in relatives.groups}
    pairs = [(need.task_id, key_of_task(need.needed_id)) for need in relatives.outline.needs]
    for need in relatives.needs:
        own = key_of_task(need.needed_id)
        shared = f"{key_of_phase(need.parent_id, need.handler)}:{need.state}"
        pairs.append((need.task_id, own if own in ends else shared))
    needed = defaultdict[str, set[str]](set)
    for task_id, key in pairs:
        own = key_of_task(task_id)
        needed[own if own in ends else group_of.get(task_id, own)].add(key)
    return needed


def _add_critical(
    item: TaskItem, needed: Mapping[str, set[str]], ends: Mapping[str, datetime], found: set[str]
) -> None:
    found.add(item.key)
    continuations = [below for below in item.below if isinstance(below, TaskItem) and below.continues]
    children = {key: below for below in item.below if not below.continues for key in _keys_of(below, ends)}
    for below in continuations:
        _add_critical(below, needed, ends, found)
    key = max(children, key=ends.__getitem__, default=None)
    while key is not None and key not in found:
        found.add(key)
        child = children[key]
        if isinstance(child, TaskItem):
            _add_critical(child, needed, ends, found)
        key = max(needed.get(key, set()) & children.keys(), key=ends.__getitem__, default=None)


def _keys_of(item: Item, ends: Mapping[str, datetime]) -> list[str]:
    if isinstance(item, TaskItem):
        return [item.key]
    return [key for key in ends if key.rpartition(":")[0] == item.key]


def _most_important(bars: Sequence[_Bar], critical: set[str]) -> list[_Bar]:
    """Return as many rows as the drawing holds, those of the critical path first, in their order."""
    ranked = sorted(range(len(bars)), key=lambda place: (bars[place].key not in critical, place))
    return [bars[place] for place in sorted(ranked[:MOST_ROWS])]


def _row(bar: _Bar, scale: Span, *, is_critical: bool, is_here: bool) -> WaterfallRow:
    shown = bar.shown
    texts = _group_texts(shown, bar.whole) if isinstance(shown, SiblingGroup) else _task_texts(shown, bar)
    return WaterfallRow(
        **texts,
        depth=min(bar.depth, DEEPEST),
        waiting=_path([bar.whole], scale, inset=6),
        running=_path(bar.runs, scale, inset=2),
        is_critical=is_critical,
        is_here=is_here,
    )


def _task_texts(task: TaskSummary, bar: _Bar) -> dict[str, Any]:
    ran = sum(map(_seconds, bar.runs))
    waited = max(0.0, _seconds(bar.whole) - ran)
    attempts = f" in {len(bar.runs)} runs" if len(bar.runs) > 1 else ""
    return {
        "name": f"{task.handler} {task.id}",
        "note": duration(ran) if bar.runs else task.status,
        "href": f"/tasks/{task.id}",
        "state": task.status,
        "words": f"{task.status}, waited {duration(waited)}, ran {duration(ran)}{attempts}",
    }


def _group_texts(group: SiblingGroup, whole: Span) -> dict[str, Any]:
    slowest = group.slowest_seconds
    return {
        "name": f"{group.handler} × {count(group.number)}",
        "note": "oldest" if slowest is None else f"slowest {duration(slowest)}",
        "href": _list_of(group),
        "state": group.state.value,
        "words": f"{count(group.number)} {group.state}, from the first to the last {duration(_seconds(whole))}",
        "slowest": group.slowest_id,
    }


def _list_of(group: SiblingGroup) -> str:
    return f"/tasks?{urlencode({'parent': group.parent_id, 'handler': group.handler, 'state': group.state.value})}"


def _path(spans: Sequence[Span], scale: Span, *, inset: int) -> str:
    return "".join(_rectangle(span, scale, inset) for span in spans)


def _rectangle(span: Span, scale: Span, inset: int) -> str:
    width = max(THINNEST, WIDTH * _seconds(span) / max(_seconds(scale), 0.001))
    x = min(WIDTH * _seconds((scale[0], span[0])) / max(_seconds(scale), 0.001), WIDTH - width)
    return f"M{max(x, 0.0):.1f} {inset}h{width:.1f}V{20 - inset}h-{width:.1f}z"


def _seconds(span: Span) -> float:
    return (span[1] - span[0]).total_seconds()
