"""An overview of a pool: current problems, figures, and the state of each role."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rolecall.model.findings import Severity
from rolecall.model.handoff import HandoffState
from rolecall.model.operator.history import Durations, History


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertAction:
    """The page on which an operator can act on a problem, and the label of its button."""

    label: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """A current problem in one sentence, the remedy, and the pages that list its tasks (`path`) and act on them.

    `kind` is that of the problem, or the doctor's check. `count` is the number of its tasks or workers, and `since` its
    beginning, if known. `of_server` is true if it is about the server's other sessions and settings.
    """

    severity: Severity
    sentence: str
    advice: str
    kind: str
    count: int | None = None
    since: datetime | None = None
    path: str | None = None
    action: AlertAction | None = None
    of_server: bool = False


@dataclass(frozen=True, slots=True)
class RoleLoad:
    """The open tasks of a role, and how many finished within the last minute; None if these are not counted."""

    role: str
    paused: bool
    ready: int
    scheduled: int
    running: int
    waiting_since: datetime | None
    ended: int | None


@dataclass(frozen=True, slots=True)
class RoleGauges:
    """The open tasks of a role by status, those tried at least five times, and since when the first ready one waits."""

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
    """The state of a role. `ended_per_second` is the rate of the last minute; `workers` counts those that claim its
    tasks.

    `workers_needed` workers would finish the pending tasks within an hour. Values that are not measured (yet) are
    None.
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
    """The pool's figures: rates of the last minute; `waiting` is of the last half minute in which a task finished."""

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
    """The overview of a pool, with the worst alerts first. More alerts may follow until it is `examined`.

    `handoff` is None without a hand-off, and until its state is known.
    """

    alerts: Sequence[Alert]
    examined: bool
    figures: PoolFigures
    roles: Sequence[RoleOutlook]
    history: History
    handoff: HandoffState | None = None
