"""What one client is yet to be told: the latest state of each thing, and no more of them than a page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rolecall.model.live import ReloadReason, RoleProgress, TaskChange
from rolecall.model.progress import Progress
from rolecall.wake.waker import Waker

__all__ = ["Batch", "Stream", "Wanted"]

MOST_TASKS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a client asks for: tasks and roles of these roles, or of all; progress of these roots.

    Without `counts` it is not told how far the roles are, for which all open tasks are counted.
    """

    roles: frozenset[str] = frozenset()
    roots: frozenset[int] = frozenset()
    counts: bool = True

    def includes(self, role: str) -> bool:
        """True if the client asks for what happens in this role."""
        return not self.roles or role in self.roles


@dataclass(slots=True, kw_only=True)
class Batch:
    """What is told at once; `id` says where it ends, where that is known.

    `stale` says that the database has not answered for so many seconds, `fresh` that it answers again.
    """

    stale: float | None = None
    fresh: bool = False
    reload: ReloadReason | None = None
    tasks: dict[int, TaskChange] = field(default_factory=dict)
    roles: dict[str, RoleProgress] = field(default_factory=dict)
    trees: dict[int, Progress] = field(default_factory=dict)
    id: str | None = None

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to tell."""
        return not (self.fresh or self.stale is not None or self.reload or self.tasks or self.roles or self.trees)


class Stream:
    """Collects what its client wants until the client has taken what came before."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self._next = Batch()
        self._bell = Waker()
        self._ended = False

    @property
    def ended(self) -> bool:
        """True when nothing more will be told."""
        return self._ended

    @property
    def id(self) -> str | None:
        """Where what was told so far ends, if that is known."""
        return self._next.id

    def end(self) -> None:
        """Tell nothing more."""
        self._ended = True
        self._bell.nudge()

    def tell_tasks(self, changes: Iterable[TaskChange]) -> None:
        """Tell of tasks that changed; too many of them are a reload."""
        tasks = self._next.tasks
        tasks.update((change.id, change) for change in changes if self.wanted.includes(change.role))
        if len(tasks) > MOST_TASKS:
            self.tell_reload(ReloadReason.CROWD)
        self._ring()

    def tell_roles(self, roles: Iterable[RoleProgress]) -> None:
        """Tell of roles that moved on."""
        if not self.wanted.counts:
            return
        self._next.roles.update((role.role, role) for role in roles if self.wanted.includes(role.role))
        self._ring()

    def tell_tree(self, progress: Progress) -> None:
        """Tell of a tree that moved on."""
        if progress.id in self.wanted.roots:
            self._next.trees[progress.id] = progress
            self._ring()

    def tell_reload(self, reason: ReloadReason) -> None:
        """Tell the client that what it shows may be out of date, instead of what changed."""
        self._next.reload = reason
        self._next.tasks.clear()
        self._ring()

    def tell_stale(self, seconds: float) -> None:
        """Tell the client that nobody knows what happened within the last so many seconds."""
        self._next.stale, self._next.fresh = seconds, False
        self._ring()

    def tell_fresh(self) -> None:
        """Tell the client that changes are known again."""
        self._next.stale, self._next.fresh = None, True
        self._ring()

    def mark(self, event_id: str | None) -> None:
        """Say where what was told so far ends."""
        if event_id is not None:
            self._next.id = event_id

    async def next(self, within: float) -> Batch:
        """Take what there is to tell; an empty batch where nothing came within so many seconds, or at the end."""
        if self._next.is_empty and not self._ended:
            await self._bell.wait(within)
        batch, self._next = self._next, Batch(id=self._next.id)
        self._bell.forget()
        return batch

    def _ring(self) -> None:
        if not self._next.is_empty:
            self._bell.nudge()
