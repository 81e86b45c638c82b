"""The three looks: which tasks changed, how far the roles are, how far the trees are that somebody asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from time import monotonic

from rolecall.model.errors import TaskNotFound
from rolecall.model.live import ReloadReason, RoleProgress, TaskChange
from rolecall.model.progress import Progress as TreeProgress
from rolecall.service.database import Database
from rolecall.service.live.reach import Reach, Start
from rolecall.service.live.rhythm import Rhythm, RhythmOptions
from rolecall.service.progress import Progress
from rolecall.sql import live

__all__ = ["Found", "RoleLook", "TaskLook", "TreeLook"]

MOST_TASKS = 1_000
TASKS = RhythmOptions(least=0.25, most=1.0)
CROWDED = RhythmOptions(least=2.0, most=2.0)
SUMMARIES = RhythmOptions(least=1.0, most=5.0, share=0.005)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a look found, and for how long to pause after it: at least `floor`, without news `pause` seconds."""

    tasks: list[TaskChange]
    reload: ReloadReason | None
    floor: float
    pause: float

    @property
    def stirred(self) -> bool:
        """True if anything happened."""
        return bool(self.tasks or self.reload)


class TaskLook:
    """Asks which tasks changed, again and again, and leaves out what it has found already."""

    def __init__(self, database: Database, reach: Reach) -> None:
        self._database = database
        self._reach = reach
        self._calm = Rhythm(TASKS)
        self._crowded = Rhythm(CROWDED)
        self._told: frozenset[TaskChange] = frozenset()

    @classmethod
    async def begin(cls, database: Database) -> TaskLook:
        """Make what has committed so far the past."""
        reach = Reach(await database.run(live.horizon()))
        # The second one tells which of the transactions before the first have not ended meanwhile.
        reach.saw(await database.run(live.horizon()))
        return cls(database, reach)

    @property
    def event_id(self) -> str | None:
        """Where the telling stands; None while that cannot be said."""
        return self._reach.start.text if self._reach.is_whole else None

    async def look(self) -> Found:
        """Find what changed since the last look."""
        began = monotonic()
        start = self._reach.start
        changes = await self._database.run(live.changes(start.since, start.after_id, MOST_TASKS))
        missed = self._reach.saw(changes.horizon)
        crowd = len(changes.tasks) > MOST_TASKS
        fresh = [] if crowd else [change for change in changes.tasks if change not in self._told]
        self._told = frozenset() if crowd else frozenset(changes.tasks)
        rhythm = self._crowded if crowd else self._calm
        pause = rhythm.looked(monotonic() - began, stirred=bool(fresh))
        return Found(tasks=fresh, reload=_reload(crowd=crowd, missed=missed), floor=rhythm.floor, pause=pause)

    async def since(self, start: Start) -> list[TaskChange] | None:
        """Find what changed since an earlier look; None where that is too much, or too long ago."""
        if not self._reach.reaches_back_to(start):
            return None
        changes = await self._database.run(live.changes(start.since, start.after_id, MOST_TASKS))
        return None if len(changes.tasks) > MOST_TASKS else list(changes.tasks)


class RoleLook:
    """Asks how far the roles are, and finds those that moved on."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._turn = Turn(SUMMARIES)
        self._last: frozenset[RoleProgress] = frozenset()

    async def look(self, *, stirred: bool) -> list[RoleProgress]:
        """Find the roles that moved on, if it is time to look."""
        if not self._turn.is_due(stirred=stirred):
            return []
        began = monotonic()
        roles = (await self._progress.roles()).roles
        moved = [role for role in roles if role not in self._last]
        self._last = frozenset(roles)
        self._turn.taken(began, stirred=bool(moved))
        return moved


class TreeLook:
    """Asks how far the trees are that somebody asked for, and finds those that moved on."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._turn = Turn(SUMMARIES)
        self._last: dict[int, TreeProgress] = {}

    async def look(self, roots: Iterable[int], *, stirred: bool) -> list[TreeProgress]:
        """Find the trees that moved on, if it is time to look."""
        if not self._turn.is_due(stirred=stirred):
            return []
        began = monotonic()
        before, self._last = self._last, {root: tree for root in roots if (tree := await self._tree(root))}
        moved = [tree for root, tree in self._last.items() if tree != before.get(root)]
        self._turn.taken(began, stirred=bool(moved))
        return moved

    def know(self, tree: TreeProgress) -> None:
        """Take it that this was told already."""
        self._last[tree.id] = tree

    async def _tree(self, root: int) -> TreeProgress | None:
        try:
            return await self._progress.tree(root)
        except TaskNotFound:
            return None


class Turn:
    """Whose turn comes when something has stirred, though not too soon, and anyway after a while."""

    def __init__(self, options: RhythmOptions) -> None:
        self._rhythm = Rhythm(options)
        self._soonest = 0.0
        self._latest = 0.0
        self._stirred = True

    def is_due(self, *, stirred: bool) -> bool:
        """True if it is time; what stirred before its time is remembered."""
        self._stirred = self._stirred or stirred
        return monotonic() >= (self._soonest if self._stirred else self._latest)

    def taken(self, began: float, *, stirred: bool) -> None:
        """Say that the turn was taken, and whether anything was found."""
        now = monotonic()
        self._latest = now + self._rhythm.looked(now - began, stirred=stirred)
        self._soonest = now + self._rhythm.floor
        self._stirred = False


def _reload(*, crowd: bool, missed: bool) -> ReloadReason | None:
    if crowd:
        return ReloadReason.CROWD
    return ReloadReason.LATE if missed else None
