"""How the pool is, at a glance: what is wrong with it, figures, and role by role."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rolecall.model.findings import Severity
from rolecall.model.handoff import HandoffNow
from rolecall.model.history import Durations, History

__all__ = ["Alert", "PoolFigures", "PoolOverview", "RoleGauges", "RoleLoad", "RoleOutlook"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """Something that is wrong now, in a sentence, what helps, and the page (`path`) where to go for it.

    `of_server` is one that tells about the server's other sessions and settings.
    """

    severity: Severity
    sentence: str
    advice: str
    path: str | None = None
    of_server: bool = False


@dataclass(frozen=True, slots=True)
class RoleLoad:
    """What a role has to do now, and how many of its tasks ended within the last minute; None where nobody counts."""

    role: str
    paused: bool
    ready: int
    scheduled: int
    running: int
    waiting_since: datetime | None
    ended: int | None


@dataclass(frozen=True, slots=True)
class RoleGauges:
    """How many tasks of a role are open, by status; how many of them were tried five times or more; and since when the
    first ready one waits.
    """

    role: str
    ready: int
    scheduled: int
    running: int
    blocked: int
    waiting: int
    stuck: int
    waiting_since: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleOutlook:
    """A role now. `ended_per_second` is over the last minute; `workers` are those that take its tasks.

    `workers_needed` would do what is pending within an hour. What was not measured (yet) is None.
    """

    role: str
    paused: bool
    ready: int
    scheduled: int
    running: int
    waiting_since: datetime | None
    ended_per_second: float | None
    workers: int
    hours_to_drain: float | None
    workers_needed: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolFigures:
    """The pool now: rates over the last minute, `waiting` over the last half minute in which anything ended."""

    ended_per_second: float | None
    waiting: Durations | None
    failed_last_hour: int
    retried_last_hour: int
    ready: int
    running: int
    slots: int
    workers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOverview:
    """The pool at a glance; the worst alerts come first. Until it is `examined` there may be more of them.

    `handoff` is None where nothing is handed over by Redis, and until it is known.
    """

    alerts: Sequence[Alert]
    examined: bool
    figures: PoolFigures
    roles: Sequence[RoleOutlook]
    history: History
    handoff: HandoffNow | None = None
