"""The picture of a tree: its nodes with what is written in them, and the lines between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from urllib.parse import urlencode

from rolecall.model.details import Outline, OutlinePhase, Unfolded
from rolecall.model.states import TaskState
from rolecall.model.tasks import TaskSummary
from rolecall.web.dashboard.drawing.items import Item, PhaseItem, TaskItem, branch_of, items_of, key_of_task, walk
from rolecall.web.dashboard.drawing.lines import bow, descent
from rolecall.web.dashboard.drawing.places import WIDTH, Place, arrange
from rolecall.web.dashboard.drawing.words import fitted
from rolecall.web.dashboard.formats import count, duration

__all__ = ["Line", "Node", "Part", "TreePicture", "counted", "draw_tree", "seconds_of"]

Kind = Literal["child", "chain", "need"]

MARGIN = 26
ROOM = 24
ROOM_BELOW = 28
ROOM_BESIDE_BUTTON = 20
BAR = 180
# What went wrong is said first, what is over last.
TELLING = (
    TaskState.FAILED,
    TaskState.RUNNING,
    TaskState.WAITING,
    TaskState.BLOCKED,
    TaskState.PENDING,
    TaskState.CANCELLED,
    TaskState.COMPLETED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A piece of the bar of a folded phase: from where, how wide, and which state it stands for."""

    x: float
    width: float
    state: TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node: where it stands and leads to, two lines of text that fit, and the whole of it for who cannot see it.

    `unfold` is the query that names more of a folded phase, or, where it is `open`, no longer does so; `parts` are its
    children by state.
    """

    key: str
    x: int
    y: int
    href: str
    state: str
    title: str
    under: str
    name: str
    unfold: str = ""
    open: bool = False
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line between two nodes."""

    key: str
    kind: Kind
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TreePicture:
    """A tree, drawn; and the same as items, to be written as a list. `kinds` are those of its lines."""

    width: int
    height: int
    nodes: tuple[Node, ...]
    lines: tuple[Line, ...]
    kinds: frozenset[Kind]
    items: TaskItem
    folded: bool


def draw_tree(outline: Outline, now: datetime, unfolded: Unfolded | None = None) -> TreePicture:
    """Draw the outline of a tree as it stands now; `unfolded` is the phase that it was asked to unfold."""
    items = items_of(outline)
    arrangement = arrange(branch_of(items))
    places = {place.key: place.moved(MARGIN, MARGIN) for place in arrangement.places}
    lines = (*_descents(items, places), *_needs(outline, places))
    return TreePicture(
        width=arrangement.width + 2 * MARGIN,
        height=arrangement.height + 2 * MARGIN,
        nodes=tuple(_node(item, places[item.key], now, unfolded) for item in walk(items)),
        lines=lines,
        kinds=frozenset(line.kind for line in lines),
        items=items,
        folded=any(phase.folded for phase in outline.phases),
    )


def seconds_of(task: TaskSummary, now: datetime) -> float | None:
    """How long a task ran, or has been running; None where it has not begun."""
    if task.started_at is None:
        return None
    return max(0.0, ((task.finished_at or now) - task.started_at).total_seconds())


def counted(phase: OutlinePhase) -> str:
    """How the children of a phase stand, what went wrong first."""
    return ", ".join(f"{count(phase.states[state])} {state}" for state in TELLING if state in phase.states)


def _descents(items: Item, places: Mapping[str, Place]) -> Iterator[Line]:
    for item in walk(items):
        for child in item.below:
            kind: Kind = "chain" if child.continues else "child"
            path = descent(places[item.key], places[child.key])
            yield Line(key=f"{item.key}-{child.key}", kind=kind, path=path)


def _needs(outline: Outline, places: Mapping[str, Place]) -> Iterator[Line]:
    for need in outline.needs:
        start, end = key_of_task(need.needed_id), key_of_task(need.task_id)
        if start in places and end in places:
            yield Line(key=f"need-{start}-{end}", kind="need", path=bow(places[start], places[end]))


def _node(item: Item, place: Place, now: datetime, unfolded: Unfolded | None) -> Node:
    if isinstance(item, TaskItem):
        return _task_node(item, place, now)
    asked = Unfolded(parent_id=item.phase.parent_id, handler=item.phase.handler)
    return _phase_node(item, place, is_open=asked == unfolded)


def _task_node(item: TaskItem, place: Place, now: datetime) -> Node:
    task = item.task
    seconds = seconds_of(task, now)
    under = task.status if seconds is None else f"{task.status} · {duration(seconds)}"
    said = f": {task.error}" if task.error and task.state is TaskState.FAILED else ""
    return Node(
        key=item.key,
        x=place.x,
        y=place.y,
        href=f"/tasks/{task.id}",
        state=task.status,
        title=fitted(task.handler, ROOM),
        under=fitted(f"{under} · {task.id}", ROOM_BELOW),
        name=f"{task.handler}, task {task.id}, {under}{said}",
    )


def _phase_node(item: PhaseItem, place: Place, *, is_open: bool) -> Node:
    phase = item.phase
    number = f" × {count(phase.number)}"
    worst = next((state for state in TELLING if state in phase.states), TaskState.COMPLETED)
    return Node(
        key=item.key,
        x=place.x,
        y=place.y,
        href=f"/tasks?{urlencode({'parent': phase.parent_id, 'handler': phase.handler})}",
        state=worst,
        title=fitted(phase.handler, ROOM_BESIDE_BUTTON - len(number)) + number,
        under=fitted(counted(phase), ROOM_BELOW),
        name=f"{count(phase.number)} children of task {phase.parent_id}, {phase.handler}: {counted(phase)}",
        unfold="" if is_open else urlencode({"unfold": f"{phase.parent_id}:{phase.handler}"}),
        open=is_open,
        parts=tuple(_parts(phase)),
    )


def _parts(phase: OutlinePhase) -> Iterator[Part]:
    """The bar, in the order in which a task lives; what is there is seen, however little it is."""
    order = [state for state in reversed(TELLING) if state in phase.states]
    least = 3.0
    room = BAR - least * len(order)
    x = (WIDTH - BAR) / 2
    for state in order:
        width = least + room * phase.states[state] / phase.number
        yield Part(x=round(x, 1), width=round(width, 1), state=state)
        x += width
