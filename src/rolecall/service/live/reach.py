"""How far back the next look must go, so that nothing is missed that commits late: pure arithmetic over horizons."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from rolecall.model.live import Horizon

__all__ = ["Reach", "Start"]

LONGEST = timedelta(seconds=5)
FARTHEST = timedelta(seconds=120)
# Between reading the clock, or drawing an id, and the write that gives a transaction its number.
SLACK = timedelta(milliseconds=500)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Start:
    """From where a look looks: everything that was written since, and every task with a higher id."""

    since: datetime
    after_id: int

    @property
    def text(self) -> str:
        """As an event's id."""
        return f"{(self.since - EPOCH) // MICROSECOND}-{self.after_id}"

    @classmethod
    def read(cls, text: str) -> Start | None:
        """Read an event's id; None for one that is not ours."""
        try:
            since, after_id = map(int, text.split("-"))
            return cls(EPOCH + since * MICROSECOND, after_id)
        except (ValueError, OverflowError):
            return None


class Reach:
    """Remembers horizons back to before the oldest transaction that is under way.

    A transaction writes no time and no id from before the horizon at which it had not begun; the slack, and one
    horizon more, cover those that it had read when it began.
    """

    def __init__(self, first: Horizon) -> None:
        self._horizons = [first]
        self._overdue = first.under_way

    @property
    def start(self) -> Start:
        """From where the next look must look."""
        return Start(self._horizons[0].at - SLACK, self._horizons[0].last_id)

    @property
    def is_whole(self) -> bool:
        """False while a transaction is under way that began before the start."""
        return not self._overdue

    def reaches_back_to(self, start: Start) -> bool:
        """True if what was told up to there is known, and not too long ago to tell the rest."""
        last = self._horizons[-1]
        return last.at - FARTHEST <= start.since <= last.at and 0 <= start.after_id <= last.last_id

    def saw(self, horizon: Horizon) -> bool:
        """Take in what the look from `start` could see; return whether something may have been missed."""
        # What ends between the two things that a horizon is made of is known by then to be another database's.
        horizon = replace(horizon, under_way=horizon.under_way - self._horizons[-1].elsewhere)
        if horizon.next_xid < self._horizons[-1].next_xid:
            # Another server, or an older copy of this one.
            self._horizons = [horizon]
            self._overdue = horizon.under_way
            return True
        missed = bool(self._overdue - horizon.under_way)
        # What ended since the look before may have ended too late to be seen by this one.
        unseen = self._horizons[-1].under_way | horizon.under_way
        self._horizons.append(horizon)
        self._forget(min(unseen, default=horizon.next_xid), horizon.at - LONGEST)
        self._overdue = frozenset(xid for xid in horizon.under_way if xid < self._horizons[0].next_xid)
        return missed

    def _forget(self, oldest_xid: int, too_old: datetime) -> None:
        while len(self._horizons) > 2 and (  # noqa: PLR2004 - the look before the last is always kept
            self._horizons[2].next_xid <= oldest_xid or self._horizons[0].at < too_old
        ):
            del self._horizons[0]
