"""The picture of a tree: its nodes with their texts, and the lines between them.

Many tasks of one handler are folded into one node. The server cannot measure text, so it counts characters of a
fixed-width font.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal
from urllib.parse import urlencode

from rolecall.model.operator.details import ExpandedPhase, Outline, OutlinePhase
from rolecall.model.states import TaskState
from rolecall.model.tasks import TaskSummary
from rolecall.web.dashboard.drawing.tree_layout import WIDTH, Branch, NodePosition, arrange, bow, descent
from rolecall.web.dashboard.formats import count, duration

MARGIN = 26
ROOM = 24
ROOM_BELOW = 28
ROOM_BESIDE_BUTTON = 20
BAR = 180
# Failures come first, finished work last.
STATE_ORDER = (
    TaskState.FAILED,
    TaskState.RUNNING,
    TaskState.WAITING,
    TaskState.BLOCKED,
    TaskState.PENDING,
    TaskState.CANCELLED,
    TaskState.COMPLETED,
)
ELLIPSIS = "…"


Kind = Literal["child", "chain", "need"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BarSegment:
    """One state's segment of a folded phase's bar."""

    x: float
    width: float
    state: TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node: its position and link, two lines of text, and `name` for screen readers.

    `unfold` is the query that unfolds a phase, or folds it again if it is `open`. `parts` are its children by state.
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
    parts: tuple[BarSegment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line between two nodes."""

    key: str
    kind: Kind
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TreePicture:
    """The drawing of a tree, and the same tree as items for a list. `kinds` are the kinds of its lines."""

    width: int
    height: int
    nodes: tuple[Node, ...]
    lines: tuple[Line, ...]
    kinds: frozenset[Kind]
    items: TaskItem
    folded: bool


def draw_tree(outline: Outline, now: datetime, unfolded: ExpandedPhase | None = None) -> TreePicture:
    """Draw the outline of a tree; `unfolded` is the phase that the request unfolds."""
    items = items_of(outline)
    arrangement = arrange(branch_of(items))
    places = {place.key: place.shift(MARGIN, MARGIN) for place in arrangement.places}
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
    """Return the run time of a task until now or its end; None if it has not started."""
    if task.started_at is None:
        return None
    return max(0.0, ((task.finished_at or now) - task.started_at).total_seconds())


def count_text(phase: OutlinePhase) -> str:
    """Return the numbers of a phase's children by state, failures first."""
    return ", ".join(f"{count(phase.states[state])} {state}" for state in STATE_ORDER if state in phase.states)


def _descents(items: Item, places: Mapping[str, NodePosition]) -> Iterator[Line]:
    for item in walk(items):
        for child in item.below:
            kind: Kind = "chain" if child.continues else "child"
            path = descent(places[item.key], places[child.key])
            yield Line(key=f"{item.key}-{child.key}", kind=kind, path=path)


def _needs(outline: Outline, places: Mapping[str, NodePosition]) -> Iterator[Line]:
    for need in outline.needs:
        start, end = key_of_task(need.needed_id), key_of_task(need.task_id)
        if start in places and end in places:
            yield Line(key=f"need-{start}-{end}", kind="need", path=bow(places[start], places[end]))


def _node(item: Item, place: NodePosition, now: datetime, unfolded: ExpandedPhase | None) -> Node:
    if isinstance(item, TaskItem):
        return _task_node(item, place, now)
    own = ExpandedPhase(parent_id=item.phase.parent_id, handler=item.phase.handler)
    return _phase_node(item, place, is_open=own == unfolded)


def _task_node(item: TaskItem, place: NodePosition, now: datetime) -> Node:
    task = item.task
    seconds = seconds_of(task, now)
    under = task.status if seconds is None else f"{task.status} · {duration(seconds)}"
    failure = f": {task.error}" if task.error and task.state is TaskState.FAILED else ""
    return Node(
        key=item.key,
        x=place.x,
        y=place.y,
        href=f"/tasks/{task.id}",
        state=task.status,
        title=shorten(task.handler, ROOM),
        under=shorten(f"{under} · {task.id}", ROOM_BELOW),
        name=f"{task.handler}, task {task.id}, {under}{failure}",
    )


def _phase_node(item: PhaseItem, place: NodePosition, *, is_open: bool) -> Node:
    phase = item.phase
    number = f" × {count(phase.number)}"
    worst = next((state for state in STATE_ORDER if state in phase.states), TaskState.COMPLETED)
    return Node(
        key=item.key,
        x=place.x,
        y=place.y,
        href=f"/tasks?{urlencode({'parent': phase.parent_id, 'handler': phase.handler})}",
        state=worst,
        title=shorten(phase.handler, ROOM_BESIDE_BUTTON - len(number)) + number,
        under=shorten(count_text(phase), ROOM_BELOW),
        name=f"{count(phase.number)} children of task {phase.parent_id}, {phase.handler}: {count_text(phase)}",
        unfold="" if is_open else urlencode({"unfold": f"{phase.parent_id}:{phase.handler}"}),
        open=is_open,
        parts=tuple(_parts(phase)),
    )


def _parts(phase: OutlinePhase) -> Iterator[BarSegment]:
    """Yield the bar's segments in the order of a task's life. Each has a minimum width, so that it is visible."""
    order = [state for state in reversed(STATE_ORDER) if state in phase.states]
    least = 3.0
    room = BAR - least * len(order)
    x = (WIDTH - BAR) / 2
    for state in order:
        width = least + room * phase.states[state] / phase.number
        yield BarSegment(x=round(x, 1), width=round(width, 1), state=state)
        x += width


Link = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskItem:
    """A task; with `continues`, it is the continuation of the item above it."""

    task: TaskSummary
    below: tuple[Item, ...] = ()
    continues: bool = False

    @property
    def key(self) -> str:
        """The key, which stays the same when the tree is drawn again."""
        return key_of_task(self.task.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseItem:
    """A task's children of one handler as one item; those that are shown individually are below it."""

    phase: OutlinePhase
    below: tuple[Item, ...] = ()
    continues: bool = False

    @property
    def key(self) -> str:
        """The key, which stays the same when the tree is drawn again."""
        return key_of_phase(self.phase.parent_id, self.phase.handler)


Item = TaskItem | PhaseItem


def key_of_task(task_id: int) -> str:
    """Return the key of a task's item."""
    return f"task-{task_id}"


def key_of_phase(parent_id: int, handler: str) -> str:
    """Return the key of the item of a task's children of one handler."""
    return f"phase-{parent_id}-{handler}"


def items_of(outline: Outline) -> TaskItem:
    """Return the tree of an outline: children below their parents, continuations below the tasks that they continue."""
    after: tuple[Item, ...] = ()
    for task in reversed(outline.following):
        after = (TaskItem(task=task, below=after, continues=True),)
    return TaskItem(task=outline.root, below=(*_below(outline, outline.root.id), *after))


def branch_of(item: Item) -> Branch:
    """Return the shape of the tree."""
    return Branch(item.key, tuple(map(branch_of, item.below)))


def walk(item: Item) -> Iterator[Item]:
    """Yield an item and all items below it, parents first."""
    yield item
    for each in item.below:
        yield from walk(each)


def _below(outline: Outline, parent_id: int) -> tuple[Item, ...]:
    placed: list[tuple[int, Item]] = []
    for phase in outline.phases:
        if phase.parent_id == parent_id:
            placed += _phase_items(outline, phase)
    return _in_chains([item for _, item in sorted(placed, key=lambda pair: pair[0])])


def _phase_items(outline: Outline, phase: OutlinePhase) -> list[tuple[int, Item]]:
    tasks = [outline.tasks[task_id] for task_id in phase.named if task_id in outline.tasks]
    items = [TaskItem(task=task, below=_below(outline, task.id)) for task in tasks]
    if phase.folded:
        return [(phase.first_id, PhaseItem(phase=phase, below=tuple(items)))]
    return [(item.task.id, item) for item in items]


def _in_chains(items: Sequence[Item]) -> tuple[Item, ...]:
    """Put each continuation below the task that it continues, if that task is included."""
    links = {_link(item.task): item for item in items if isinstance(item, TaskItem)}
    following = {link: item for link, item in links.items() if link[1] and (link[0], link[1] - 1) in links}
    first = [item for item in items if isinstance(item, PhaseItem) or _link(item.task) not in following]
    return tuple(_with_following(item, following) if isinstance(item, TaskItem) else item for item in first)


def _with_following(item: TaskItem, following: Mapping[Link, TaskItem]) -> TaskItem:
    chain_id, index = _link(item.task)
    after = following.get((chain_id, index + 1))
    if after is None:
        return item
    return replace(item, below=(*item.below, replace(_with_following(after, following), continues=True)))


def _link(task: TaskSummary) -> Link:
    return task.chain_id, task.chain_index


def shorten(text: str, room: int) -> str:
    """Return the text, shortened with an ellipsis if it does not fit."""
    return text if len(text) <= room else text[: room - len(ELLIPSIS)].rstrip() + ELLIPSIS
