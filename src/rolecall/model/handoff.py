"""The state of the hand-off through Redis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneState:
    """The messages of one role and priority band in Redis: how many wait, since when, and how many workers have
    taken.
    """

    role: str
    band: str
    waiting: int
    taken: int
    waiting_since: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffState:
    """The state of the hand-off. With a `problem`, Redis did not answer and the rest is unknown.

    `dispatcher` is the leading dispatcher, if any. `workers` counts those seen within ten seconds, and `reclaimed`
    the messages that were put back, removed or forgotten since Redis was emptied. `evicts` is a `maxmemory-policy`
    that may evict keys. `mixed` is true if another pool pushes its tasks to the same keys.
    """

    problem: str | None = None
    kind: str | None = None
    dispatcher: str | None = None
    workers: int = 0
    reclaimed: int = 0
    evicts: str | None = None
    mixed: bool = False
    lanes: Sequence[LaneState] = ()
