"""Facts about a pool's health, their limits, and the diagnosis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from math import inf

from rolecall.model.findings import Finding, Severity


class Verdict(StrEnum):
    """The severity of the worst finding."""

    FINE = "fine"
    WARNING = "warning"
    TROUBLE = "trouble"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """All findings, the worst first, and the names of all checks that were run.

    `notifications` is the transport that reaches workers; None if there is none or it was not checked.
    """

    verdict: Verdict
    findings: Sequence[Finding]
    checks: Sequence[str]
    notifications: str | None = None


@dataclass(frozen=True, slots=True)
class Bound:
    """The figures from which a value is a warning and from which it is trouble."""

    warning: float
    trouble: float

    def judge(self, figure: float) -> Severity | None:
        """Return the severity of a figure; None below both limits."""
        if figure >= self.trouble:
            return Severity.TROUBLE
        return Severity.WARNING if figure >= self.warning else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of healthy values.

    In seconds: the age of snapshots and prepared transactions, clock differences, the delays of rescue, pruning and
    counting, how long a duty has failed, and how long it has not succeeded for another reason.
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
    # Shorter ones are a warning, because a worker waits that long for one answer, or trouble, because calls of
    # operators wait that long for locks.
    statement_timeout: float = 15.0
    statement_timeout_trouble: float = 5.0
    slot_bytes: Bound = Bound(0, 10 * 2**30)
    standby_behind: Bound = Bound(64 * 2**20, inf)
    oldest_server: int = 150_000


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """The server's settings in this session, how full its counters are, and its clock (seconds since 1970).

    `schema` is where `user` creates objects without a schema name. Names in the schemas `before_builtins` take
    precedence over built-in functions and operators.
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
    before_builtins: list[str]


@dataclass(frozen=True, slots=True)
class StatementTimeout:
    """The `statement_timeout` of a login, in seconds. `source` is what sets it, such as `database` or `user`."""

    login: str
    seconds: float
    source: str


@dataclass(frozen=True, slots=True)
class OldSnapshot:
    """The session of this database with the oldest snapshot. Rows that died after it cannot be vacuumed."""

    pid: int
    seconds: float
    application: str
    state: str
    query: str
    query_seconds: float


@dataclass(frozen=True, slots=True)
class PreparedTransaction:
    """A transaction that was prepared for a two-phase commit and has not been finished."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class StaleSlot:
    """A replication slot without a reader. The server retains `kept_bytes` of WAL for it, if known."""

    name: str
    kept_bytes: int | None


@dataclass(frozen=True, slots=True)
class StandbyFacts:
    """The cluster of which a standby is a copy, whether it still replicates, and how many bytes of WAL it lacks."""

    cluster: str
    follows: bool
    behind_bytes: int | None


@dataclass(frozen=True, slots=True)
class TableAutovacuum:
    """Whether a table is autovacuumed, and with the settings that a frequently updated table needs."""

    table: str
    autovacuum: bool
    tuned: bool


@dataclass(frozen=True, slots=True)
class ClockOfWorker:
    """The number of seconds by which a worker's clock is ahead of the database's."""

    worker_id: int
    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class UncountedTasks:
    """How many seconds ago finished tasks were last counted, and the roles whose transactions may be the cause.

    The database role `role` of this session may not see the age of the transactions of the roles `unseen`.
    """

    seconds: float
    unseen: Sequence[str]
    role: str


@dataclass(frozen=True, slots=True)
class UnprunedRecords:
    """Expired records of one kind that have been due for pruning for `late` seconds or in use for `in_use` seconds."""

    kind: str
    late: float
    in_use: float | None


@dataclass(frozen=True, slots=True)
class DutyState:
    """A maintenance duty and the state of its runs. All durations are in seconds.

    `overdue` is how long it has been due without being started. `unfinished` is how long no run has succeeded
    although one was started; None if the last run succeeded. `error` is that of the latest run; None if it did not
    fail.
    """

    name: str
    every: float
    overdue: float
    unfinished: float | None
    succeeded_at: datetime | None
    error: str | None
