"""The three looks: changed tasks, counts of roles, and progress of requested trees."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from time import monotonic

from rolecall.model.errors import TaskNotFound
from rolecall.model.operator.live import Horizon, ReloadReason, RoleProgress, TaskChange
from rolecall.model.operator.progress import Progress as TreeProgress
from rolecall.service.database import Database
from rolecall.service.progress import Progress
from rolecall.service.shared import Cost
from rolecall.sql import live

MOST_TASKS = 1_000
LONGEST_REACH = timedelta(seconds=5)
FARTHEST = timedelta(seconds=120)
# Between reading the clock, or drawing an id, and the write that assigns the transaction id.
SLACK = timedelta(milliseconds=500)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
GROWTH = 1.5
LONGEST_PAUSE = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RhythmOptions:
    """The minimum and, while idle, maximum seconds between two looks, and the share of time spent looking."""

    least: float
    most: float
    share: float = 0.02


TASKS = RhythmOptions(least=0.25, most=1.0)
CROWDED = RhythmOptions(least=2.0, most=2.0)
SUMMARIES = RhythmOptions(least=1.0, most=5.0, share=0.005)


class Rhythm:
    """The pause after each look. `floor` is the part that nothing may shorten. Both are at most twenty seconds."""

    def __init__(self, options: RhythmOptions) -> None:
        self._options = options
        self._delay = options.least
        self._cost = Cost()
        self.floor = options.least

    def next_pause(self, seconds: float, *, has_changed: bool) -> float:
        """Return the pause after a look that took `seconds`; `has_changed` if it found something."""
        options = self._options
        self._delay = options.least if has_changed else min(options.most, self._delay * GROWTH)
        self.floor = max(options.least, min(LONGEST_PAUSE, self._cost.add_run(seconds) / options.share))
        return max(self._delay, self.floor)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskUpdate:
    """The result of a look, and the seconds to pause: at least `floor`, and `pause` if nothing happens."""

    tasks: list[TaskChange]
    reload: ReloadReason | None
    floor: float
    pause: float

    @property
    def has_changed(self) -> bool:
        return bool(self.tasks or self.reload)


class TaskQuery:
    """Queries changed tasks repeatedly, and skips changes that it has already returned."""

    def __init__(self, database: Database, reach: Reach) -> None:
        self._database = database
        self._reach = reach
        self._calm = Rhythm(TASKS)
        self._crowded = Rhythm(CROWDED)
        self._returned: frozenset[TaskChange] = frozenset()

    @classmethod
    async def begin(cls, database: Database) -> TaskQuery:
        """Start after everything that has committed so far."""
        reach = Reach(await database.run(live.horizon()))
        # The second horizon shows which of the transactions before the first are still open.
        reach.add_horizon(await database.run(live.horizon()))
        return cls(database, reach)

    @property
    def event_id(self) -> str | None:
        """The id of the latest position; None while it is unknown."""
        return self._reach.start.text if self._reach.is_complete else None

    async def query(self) -> TaskUpdate:
        """Return the changes since the last look."""
        started = monotonic()
        start = self._reach.start
        changes = await self._database.run(live.changes(start.since, start.after_id, MOST_TASKS))
        missed = self._reach.add_horizon(changes.horizon)
        crowd = len(changes.tasks) > MOST_TASKS
        fresh = [] if crowd else [change for change in changes.tasks if change not in self._returned]
        self._returned = frozenset() if crowd else frozenset(changes.tasks)
        rhythm = self._crowded if crowd else self._calm
        pause = rhythm.next_pause(monotonic() - started, has_changed=bool(fresh))
        return TaskUpdate(tasks=fresh, reload=_reload(crowd=crowd, missed=missed), floor=rhythm.floor, pause=pause)

    async def since(self, start: Start) -> list[TaskChange] | None:
        """Return the changes since an earlier look; None if there are too many, or it is too long ago."""
        if not self._reach.covers(start):
            return None
        changes = await self._database.run(live.changes(start.since, start.after_id, MOST_TASKS))
        return None if len(changes.tasks) > MOST_TASKS else list(changes.tasks)


class RoleQuery:
    """Queries the counts of roles, and returns those that changed."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._turn = DueTimer(SUMMARIES)
        self._last: frozenset[RoleProgress] = frozenset()

    async def query(self, *, has_changed: bool) -> list[RoleProgress]:
        """Return the roles that changed, if a look is due."""
        if not self._turn.is_due(has_changed=has_changed):
            return []
        started = monotonic()
        roles = (await self._progress.roles()).roles
        changes = [role for role in roles if role not in self._last]
        self._last = frozenset(roles)
        self._turn.note_query(started, has_changed=bool(changes))
        return changes


class TreeQuery:
    """Queries the progress of requested trees, and returns those that changed."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._turn = DueTimer(SUMMARIES)
        self._last: dict[int, TreeProgress] = {}

    async def query(self, roots: Iterable[int], *, has_changed: bool) -> list[TreeProgress]:
        """Return the trees that changed, if a look is due."""
        if not self._turn.is_due(has_changed=has_changed):
            return []
        started = monotonic()
        previous, self._last = self._last, {root: tree for root in roots if (tree := await self._tree(root))}
        changes = [tree for root, tree in self._last.items() if tree != previous.get(root)]
        self._turn.note_query(started, has_changed=bool(changes))
        return changes

    def note_sent(self, tree: TreeProgress) -> None:
        """Note that this progress was already sent."""
        self._last[tree.id] = tree

    async def _tree(self, root: int) -> TreeProgress | None:
        try:
            return await self._progress.tree(root)
        except TaskNotFound:
            return None


class DueTimer:
    """Decides when a look is due: soon after a change, but not too soon, and at regular intervals."""

    def __init__(self, options: RhythmOptions) -> None:
        self._rhythm = Rhythm(options)
        self._soonest = 0.0
        self._latest = 0.0
        self._changed = True

    def is_due(self, *, has_changed: bool) -> bool:
        """Return whether a look is due. An early change is remembered."""
        self._changed = self._changed or has_changed
        return monotonic() >= (self._soonest if self._changed else self._latest)

    def note_query(self, started: float, *, has_changed: bool) -> None:
        """Note that a look was done, and whether it found something."""
        now = monotonic()
        self._latest = now + self._rhythm.next_pause(now - started, has_changed=has_changed)
        self._soonest = now + self._rhythm.floor
        self._changed = False


def _reload(*, crowd: bool, missed: bool) -> ReloadReason | None:
    if crowd:
        return ReloadReason.CROWD
    return ReloadReason.LATE if missed else None


@dataclass(frozen=True, slots=True)
class Start:
    """The start of a look: it returns everything written since then, and all tasks with a higher id."""

    since: datetime
    after_id: int

    @property
    def text(self) -> str:
        """The position as the id of an event."""
        return f"{(self.since - EPOCH) // MICROSECOND}-{self.after_id}"

    @classmethod
    def read(cls, text: str) -> Start | None:
        """Parse the id of an event; None if it is invalid."""
        try:
            since, after_id = map(int, text.split("-"))
            return cls(EPOCH + since * MICROSECOND, after_id)
        except (ValueError, OverflowError):
            return None


class Reach:
    """Remembers horizons back to the start of the oldest open transaction.

    A transaction writes no time and no id from before the last horizon at which it had not begun. The slack, and one
    more horizon, cover values that it read as it began.
    """

    def __init__(self, first: Horizon) -> None:
        self._horizons = [first]
        self._overdue = first.under_way

    @property
    def start(self) -> Start:
        """The start of the next look."""
        return Start(self._horizons[0].at - SLACK, self._horizons[0].last_id)

    @property
    def is_complete(self) -> bool:
        """False while a transaction is open that began before the start."""
        return not self._overdue

    def covers(self, start: Start) -> bool:
        """Return whether changes since that position can still be returned."""
        last = self._horizons[-1]
        return last.at - FARTHEST <= start.since <= last.at and 0 <= start.after_id <= last.last_id

    def add_horizon(self, horizon: Horizon) -> bool:
        """Add the horizon of the latest look. Return whether changes may have been missed."""
        # A transaction that ended between the two reads of a horizon is now known to belong to another database.
        horizon = replace(horizon, under_way=horizon.under_way - self._horizons[-1].elsewhere)
        if horizon.next_xid < self._horizons[-1].next_xid:
            # Another server, or a restored backup of this one.
            self._horizons = [horizon]
            self._overdue = horizon.under_way
            return True
        missed = bool(self._overdue - horizon.under_way)
        # A transaction that ended since the previous look may have committed too late for this one.
        unseen = self._horizons[-1].under_way | horizon.under_way
        self._horizons.append(horizon)
        self._forget(min(unseen, default=horizon.next_xid), horizon.at - LONGEST_REACH)
        self._overdue = frozenset(xid for xid in horizon.under_way if xid < self._horizons[0].next_xid)
        return missed

    def _forget(self, oldest_xid: int, too_old: datetime) -> None:
        while len(self._horizons) > 2 and (  # noqa: PLR2004 - the look before the last is always kept
            self._horizons[2].next_xid <= oldest_xid or self._horizons[0].at < too_old
        ):
            del self._horizons[0]
