"""What a look at the health of a pool finds: facts, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from math import inf

from rolecall.model.findings import Finding, Severity

__all__ = [
    "Bound",
    "ClockOfWorker",
    "Diagnosis",
    "DutyState",
    "Limits",
    "OldSnapshot",
    "PreparedTransaction",
    "ServerFacts",
    "StaleSlot",
    "StrandedWork",
    "TableCare",
    "Uncounted",
    "Unpruned",
    "Verdict",
]


class Verdict(StrEnum):
    """The worst of all findings."""

    FINE = "fine"
    WARNING = "warning"
    TROUBLE = "trouble"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Everything that is wrong, the worst first, and the names of all checks that were made.

    `notifications` is what was found to bring them to workers: None if nothing is, or where nobody looked.
    """

    verdict: Verdict
    findings: Sequence[Finding]
    checks: Sequence[str]
    notifications: str | None = None


@dataclass(frozen=True, slots=True)
class Bound:
    """From where on a figure is a warning, and from where on trouble."""

    warning: float
    trouble: float

    def judge(self, figure: float) -> Severity | None:
        """None below both."""
        if figure >= self.trouble:
            return Severity.TROUBLE
        return Severity.WARNING if figure >= self.warning else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What is still healthy.

    In seconds: the age of snapshots and prepared transactions, how far clocks are off, how late rescue, pruning and
    counts are, for how long a duty has failed, and for how long it has not succeeded for another reason.
    """

    snapshot: Bound = Bound(300, 3_600)
    prepared: Bound = Bound(300, 3_600)
    clock: Bound = Bound(5, 60)
    overdue: Bound = Bound(60, 300)
    unpruned: Bound = Bound(3_600, 86_400)
    uncounted: Bound = Bound(300, inf)
    failing_duty: Bound = Bound(30, 900)
    undone_duty: Bound = Bound(600, 3_600)
    queue_usage: Bound = Bound(0.25, 0.75)
    frozen_age: Bound = Bound(1_000_000_000, 1_800_000_000)
    slot_bytes: Bound = Bound(0, 10 * 2**30)
    standby_behind: Bound = Bound(64 * 2**20, inf)
    oldest_server: int = 150_000


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """How the server is set up for this session, how full its counters are, and its clock (seconds since 1970).

    `schema` is where `user` makes what he gives no schema.
    """

    version_number: int
    version: str
    fsync: bool
    full_page_writes: bool
    synchronous_commit: str
    isolation: str
    autovacuum: bool
    queue_usage: float
    frozen_age: int
    clock: float
    user: str
    schema: str


@dataclass(frozen=True, slots=True)
class OldSnapshot:
    """The session of this database whose snapshot is the oldest: what dies after it cannot be cleaned up."""

    pid: int
    seconds: float
    application: str
    state: str
    query: str
    query_seconds: float


@dataclass(frozen=True, slots=True)
class PreparedTransaction:
    """A transaction that was prepared for a two-phase commit, and waits for the second phase."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class StaleSlot:
    """A replication slot that nobody reads; the server keeps `kept_bytes` of its log for it, or does not tell."""

    name: str
    kept_bytes: int | None


@dataclass(frozen=True, slots=True)
class StandbyFacts:
    """Which cluster a standby is a copy of, whether it still follows it, and how many bytes of its log it lacks."""

    cluster: str
    follows: bool
    behind_bytes: int | None


@dataclass(frozen=True, slots=True)
class TableCare:
    """How the server cleans up a table: whether at all, and whether with the settings that a hot one needs."""

    table: str
    autovacuum: bool
    tuned: bool


@dataclass(frozen=True, slots=True)
class ClockOfWorker:
    """By how many seconds a worker's clock is ahead of the database's."""

    worker_id: int
    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Uncounted:
    """For how many seconds nothing that ended was counted, and whose transactions, of unknown age, may be why.

    `role` is the one that asks, and may not see more of them.
    """

    seconds: float
    unseen: Sequence[str]
    role: str


@dataclass(frozen=True, slots=True)
class Unpruned:
    """A kind of things past their time: nobody has pruned it for `late` seconds, or it has been in use for `in_use`."""

    kind: str
    late: float
    in_use: float | None


@dataclass(frozen=True, slots=True)
class DutyState:
    """A duty of the pool and how its runs go; all but `succeeded_at` and `error` are seconds.

    `overdue`: for how long it has been due and no process has begun it. `unfinished`: for how long no run has succeeded
    although one was begun, None if the last one succeeded. `error`: why the latest run failed, None if it did not.
    """

    name: str
    every: float
    overdue: float
    unfinished: float | None
    succeeded_at: datetime | None
    error: str | None


@dataclass(frozen=True, slots=True)
class StrandedWork:
    """Due tasks of a role and handler that no active worker runs; `workers` counts those of the role."""

    role: str
    handler: str
    tasks: int
    workers: int
