"""The buffer of one client: the latest state of each item, with a limited number of tasks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rolecall.model.operator.live import ReloadReason, RoleProgress, TaskChange
from rolecall.model.operator.progress import Progress
from rolecall.transport.waker import Waker

MOST_TASKS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """What a client requests: changes in these roles (empty: all), and the progress of these roots.

    Without `counts`, it receives no counts of roles, which require counting all open tasks.
    """

    roles: frozenset[str] = frozenset()
    roots: frozenset[int] = frozenset()
    counts: bool = True

    def includes(self, role: str) -> bool:
        """Return whether the client requests changes in this role."""
        return not self.roles or role in self.roles


@dataclass(slots=True, kw_only=True)
class Batch:
    """Updates to send together; `id` is the position after them, if known.

    `stale` is for how many seconds the database has not responded; `fresh` means that it responds again.
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
        return not (self.fresh or self.stale is not None or self.reload or self.tasks or self.roles or self.trees)


class Stream:
    """Collects updates until its client takes them."""

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self._next = Batch()
        self._bell = Waker()
        self._ended = False

    @property
    def is_ended(self) -> bool:
        """True if there will be no more updates."""
        return self._ended

    @property
    def id(self) -> str | None:
        """The position after the latest updates, if known."""
        return self._next.id

    def end(self) -> None:
        """End the stream."""
        self._ended = True
        self._bell.nudge()

    def add_tasks(self, changes: Iterable[TaskChange]) -> None:
        """Add changed tasks. Too many of them become a reload."""
        tasks = self._next.tasks
        tasks.update((change.id, change) for change in changes if self.subscription.includes(change.role))
        if len(tasks) > MOST_TASKS:
            self.add_reload(ReloadReason.CROWD)
        self._ring()

    def add_roles(self, roles: Iterable[RoleProgress]) -> None:
        """Add changed counts of roles."""
        if not self.subscription.counts:
            return
        self._next.roles.update((role.role, role) for role in roles if self.subscription.includes(role.role))
        self._ring()

    def add_tree(self, progress: Progress) -> None:
        """Add the changed progress of a tree."""
        if progress.id in self.subscription.roots:
            self._next.trees[progress.id] = progress
            self._ring()

    def add_reload(self, reason: ReloadReason) -> None:
        """Replace the changes with a reload, because the client's data may be out of date."""
        self._next.reload = reason
        self._next.tasks.clear()
        self._ring()

    def add_stale(self, seconds: float) -> None:
        """Report that the changes of the last seconds are unknown."""
        self._next.stale, self._next.fresh = seconds, False
        self._ring()

    def add_fresh(self) -> None:
        """Report that changes are known again."""
        self._next.stale, self._next.fresh = None, True
        self._ring()

    def mark(self, event_id: str | None) -> None:
        """Set the position after the latest updates."""
        if event_id is not None:
            self._next.id = event_id

    async def next(self, within: float) -> Batch:
        """Take the collected updates. The batch is empty after `within` seconds without any, or at the end."""
        if self._next.is_empty and not self._ended:
            await self._bell.wait(within)
        batch, self._next = self._next, Batch(id=self._next.id)
        self._bell.forget()
        return batch

    def _ring(self) -> None:
        if not self._next.is_empty:
            self._bell.nudge()
