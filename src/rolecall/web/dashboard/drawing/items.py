"""The tree as a reader sees it: tasks, and where there are many of one handler, one item for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rolecall.model.details import Outline, OutlinePhase
from rolecall.model.tasks import TaskSummary
from rolecall.web.dashboard.drawing.places import Branch

__all__ = ["Item", "PhaseItem", "TaskItem", "branch_of", "items_of", "key_of_task", "walk"]

Link = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskItem:
    """A task; it `continues` where it goes on the chain of the item above it."""

    task: TaskSummary
    below: tuple[Item, ...] = ()
    continues: bool = False

    @property
    def key(self) -> str:
        """What tells it apart from all others, now and when it is drawn again."""
        return key_of_task(self.task.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseItem:
    """A task's children of one handler as one; those that are named stand below it."""

    phase: OutlinePhase
    below: tuple[Item, ...] = ()
    continues: bool = False

    @property
    def key(self) -> str:
        """What tells it apart from all others, now and when it is drawn again."""
        return f"phase-{self.phase.parent_id}-{self.phase.handler}"


Item = TaskItem | PhaseItem


def key_of_task(task_id: int) -> str:
    """The key of a task's item."""
    return f"task-{task_id}"


def items_of(outline: Outline) -> TaskItem:
    """Make the tree of an outline: children below their parents, continuations below what they go on from."""
    after: tuple[Item, ...] = ()
    for task in reversed(outline.following):
        after = (TaskItem(task=task, below=after, continues=True),)
    return TaskItem(task=outline.root, below=(*_below(outline, outline.root.id), *after))


def branch_of(item: Item) -> Branch:
    """The same tree as nothing but its shape."""
    return Branch(item.key, tuple(map(branch_of, item.below)))


def walk(item: Item) -> Iterator[Item]:
    """An item and all below it, parents first."""
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
    """Put each continuation below the task that it goes on from, where that one is among them."""
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
