"""How the hand-off by Redis is doing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

__all__ = ["HandoffNow", "LaneNow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneNow:
    """What lies in Redis of one role and band: waiting, since when the oldest does, and taken by workers."""

    role: str
    band: str
    waiting: int
    taken: int
    waiting_since: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffNow:
    """The hand-off at this moment. With a `problem` Redis did not answer, and the rest is unknown.

    `dispatcher` is the one that leads, if any does; `workers` were heard of within ten seconds; `reclaimed` entries
    were put back, removed or forgotten since Redis was emptied; `evicts` is a `maxmemory-policy` that may lose keys;
    `mixed`: what is handed over there is another pool's.
    """

    problem: str | None = None
    kind: str | None = None
    dispatcher: str | None = None
    workers: int = 0
    reclaimed: int = 0
    evicts: str | None = None
    mixed: bool = False
    lanes: Sequence[LaneNow] = ()
