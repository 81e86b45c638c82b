"""Judges facts about a server and its pool: problems and their remedies. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator

from rolecall.handoff.roll import APART, MIXED
from rolecall.model.findings import Finding, Severity
from rolecall.model.handlers import DeclaredHandler
from rolecall.model.handoff import HandoffState
from rolecall.model.operator.access import ApiKey
from rolecall.model.operator.doctor import (
    Bound,
    ClockOfWorker,
    DutyState,
    Limits,
    OldSnapshot,
    PreparedTransaction,
    ServerFacts,
    StaleSlot,
    StandbyFacts,
    StatementTimeout,
    TableAutovacuum,
    UncountedTasks,
    UnprunedRecords,
)
from rolecall.model.schedules import StoredSchedule
from rolecall.model.workers import ContestedDeclaration

Findings = Iterator[Finding]
OURS = "rolecall"
# A duty that has missed this many runs is more than late.
MISSED_RUNS = 5


def settings(server: ServerFacts, limits: Limits) -> Findings:
    """Check the server's version and settings."""
    if server.version_number < limits.oldest_server:
        yield _trouble(
            "server_version",
            f"the server is Postgres {server.version}",
            f"upgrade to Postgres {limits.oldest_server // 10_000} or newer",
        )
    for name, on in (("fsync", server.fsync), ("full_page_writes", server.full_page_writes)):
        if not on:
            yield _trouble(name, f"{name} is off: a crash of the machine destroys the database", f"set {name} = on")
    if server.synchronous_commit == "off":
        yield _warning(
            "synchronous_commit",
            "synchronous_commit is off by default: a crash of the server loses what your own transactions committed",
            "set it to on; workers turn it off where nothing can be lost",
        )
    if server.isolation != "read committed":
        yield _warning(
            "isolation",
            f"transactions are {server.isolation!r} by default: Rolecall sets 'read committed' for its own, but some"
            " calls are rejected in yours",
            "set default_transaction_isolation = 'read committed' for this database and its users",
        )
    if server.schema == OURS:
        yield _warning(
            "search_path",
            f"objects that {server.user} creates without a schema name end up in Rolecall's own schema {OURS!r}",
            f'alter role "{server.user}" set search_path = public, and move what is there: alter table ... set schema',
        )
    if server.before_builtins:
        yield _warning(
            "search_path",
            f"the search path names {', '.join(server.before_builtins)} before pg_catalog, so functions and operators"
            " there replace built-in ones, also in the statements of clients and workers",
            f'alter role "{server.user}" set search_path = pg_catalog, followed by the schemas that you need',
        )
    if not server.autovacuum:
        yield _trouble("autovacuum", "autovacuum is off: the queue becomes slower and slower", "set autovacuum = on")


def statement_timeouts(found: list[StatementTimeout], limits: Limits) -> Findings:
    """Check that the server cancels none of Rolecall's own statements. Workers would repeat them as in an outage."""
    for each in (timeout for timeout in found if timeout.seconds < limits.statement_timeout):
        judge = _trouble if each.seconds < limits.statement_timeout_trouble else _warning
        problem = f"statement_timeout is {each.seconds:g} s for login {each.login} (source: {each.source})"
        yield judge("statement_timeout", problem, "slow calls fail as in an outage: set it to 0 for this login")


def counters(server: ServerFacts, limits: Limits) -> Findings:
    """Check resources that fill up slowly and stop everything when they are full."""
    if severity := limits.queue_usage.judge(server.queue_usage):
        yield Finding(
            severity=severity,
            check="notification_queue",
            problem=f"the queue of notifications is {server.queue_usage:.0%} full; when it is full, NOTIFY fails",
            advice="end the session that listens in a long transaction: see pg_stat_activity, idle in transaction",
        )
    if severity := limits.frozen_age.judge(server.frozen_age):
        yield Finding(
            severity=severity,
            check="frozen_age",
            problem=f"the oldest unfrozen transaction is {server.frozen_age:,} transactions old (limit: 2 billion)",
            advice="find out what keeps autovacuum from freezing (snapshots, slots), then run vacuum (freeze)",
        )


def handoff(now: HandoffState | None) -> Findings:
    """Check the Redis that hands over tasks. Without it, nothing is lost, and workers poll."""
    if now is None:
        return
    if now.problem is not None:
        yield _warning("handoff", f"Redis does not respond, so workers poll: {now.problem}", "see ROLECALL_REDIS_URL")
        return
    if now.dispatcher is None:
        yield _warning("handoff", "no dispatcher is running, so workers poll", "run `rolecall dispatch`, or `serve`")
    if now.mixed:
        yield _warning("handoff", f"{MIXED}: the workers of this pool poll", APART)
    if now.evicts is not None:
        yield _warning(
            "handoff",
            f"Redis may evict messages (maxmemory-policy {now.evicts}): their tasks are handed over again, but late",
            "set maxmemory-policy to noeviction, or use a separate Redis for the hand-off",
        )


def snapshots(found: list[OldSnapshot], limits: Limits) -> Findings:
    """Check the age of the oldest snapshot."""
    for session in found:
        if severity := limits.snapshot.judge(session.seconds):
            yield Finding(
                severity=severity,
                check="oldest_snapshot",
                problem=(
                    f"session {session.pid} ({session.application or 'without a name'}, {session.state}) has pinned a"
                    f" snapshot for {session.seconds:.0f} s; its last query began {session.query_seconds:.0f} s ago:"
                    f" {session.query!r}; rows deleted since then cannot be cleaned up"
                ),
                advice=f"end its transaction, or the session: select pg_terminate_backend({session.pid})",
            )


def prepared_transactions(found: list[PreparedTransaction], limits: Limits) -> Findings:
    """Check for prepared transactions that are never finished."""
    for transaction in found:
        if severity := limits.prepared.judge(transaction.seconds):
            yield Finding(
                severity=severity,
                check="prepared_transactions",
                problem=f"transaction {transaction.name!r} has been prepared for {transaction.seconds:.0f} s",
                advice="commit prepared or rollback prepared it: it pins a snapshot and keeps its locks",
            )


def slots(found: list[StaleSlot], limits: Limits) -> Findings:
    """Check for replication slots without a reader."""
    for slot in found:
        kept = slot.kept_bytes
        if severity := Severity.WARNING if kept is None else limits.slot_bytes.judge(kept):
            much = "an unknown amount" if kept is None else f"{kept / 2**20:.0f} MB"
            yield Finding(
                severity=severity,
                check="replication_slots",
                problem=f"replication slot {slot.name!r} has no reader, and retains {much} of the log",
                advice="start its reader, or drop it: select pg_drop_replication_slot(...)",
            )


def tables(found: list[TableAutovacuum]) -> Findings:
    """Check the vacuum settings of the task tables."""
    for care in found:
        name = f"rolecall.{care.table}"
        if not care.autovacuum:
            yield _trouble(
                "table_care", f"autovacuum is off for {name}", f"alter table {name} reset (autovacuum_enabled)"
            )
        if not care.tuned:
            yield _warning(
                "table_care",
                f"{name} has lost its autovacuum settings: claims become slower between two vacuums",
                f"alter table {name} set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0)",
            )


def clocks(found: list[ClockOfWorker], here: float, limits: Limits) -> Findings:
    """Check clocks; `here` is how many seconds this machine's clock is ahead."""
    named = [(f"worker {clock.worker_id} ({clock.name})", clock.seconds) for clock in found]
    for who, seconds in [*named, ("this machine", here)]:
        if severity := limits.clock.judge(abs(seconds)):
            way = "ahead of" if seconds > 0 else "behind"
            yield Finding(
                severity=severity,
                check="clocks",
                problem=f"the clock of {who} is {abs(seconds):.0f} s {way} the database's",
                advice="synchronize it by NTP; Rolecall does not depend on it, but logs and your own dates do",
            )


def hidden_values(handlers: list[DeclaredHandler]) -> Findings:
    """Check for handlers whose current declaration would show values that an earlier one redacted."""
    for handler in handlers:
        if places := ", ".join(handler.retained_redactions):
            yield _warning(
                "hidden_values",
                f"handler {handler.name!r} no longer redacts {places}; an earlier declaration did, so they remain so",
                f"deploy code that redacts them, or show them again: rolecall handlers reveal {handler.name}",
            )


def withdrawn_schedules(schedules: list[StoredSchedule]) -> Findings:
    """Check for schedules that their app no longer declares."""
    for schedule in schedules:
        if schedule.withdrawn:
            state = "still runs, because a person has edited it" if schedule.enabled else "is disabled"
            yield _warning(
                "withdrawn_schedules",
                f"schedule {schedule.name!r} {state}: {schedule.withdrawn}",
                f"delete it, or enable it to keep it: rolecall schedules delete {schedule.name}",
            )


def contested_declarations(found: list[ContestedDeclaration]) -> Findings:
    """Check for apps with the same name, and for declarations of several apps with different settings."""
    for contested in found:
        yield _warning("contested_declarations", contested.problem, contested.advice)


def partitions(missing: list[str]) -> Findings:
    """Check that the partitions of the next days exist."""
    if names := ", ".join(missing):
        yield _warning(
            "partitions",
            f"missing partitions: {names}; their rows go to the default partition, where they are pruned row by row",
            "run a worker with maintenance, or select rolecall.make_partitions()",
        )


def retention(found: list[UnprunedRecords], limits: Limits) -> Findings:
    """Check that expired records are pruned."""
    for kind in found:
        if kind.in_use is not None and (severity := limits.unpruned.judge(kind.in_use)):
            yield Finding(
                severity=severity,
                check="retention",
                problem=(
                    f"days past every role's retention cannot be dropped: {_table_of(kind)} was in use at each attempt"
                    f" for {kind.in_use:.0f} s"
                ),
                advice="end its long readers, or let them read a copy: see pg_stat_activity",
            )
        elif severity := limits.unpruned.judge(kind.late):
            yield Finding(
                severity=severity,
                check="retention",
                problem=f"{kind.kind} have not been pruned for {kind.late:.0f} s after their time",
                advice="run a worker with maintenance, or `rolecall prune`",
            )


def duties(found: list[DutyState], limits: Limits) -> Findings:
    """Check that maintenance duties run. Duties that fail with the same error share a finding."""
    failing: dict[str, list[DutyState]] = {}
    for duty in found:
        if duty.error is not None and duty.unfinished is not None:
            failing.setdefault(duty.error, []).append(duty)
    for error, those in failing.items():
        yield from _duty_findings(
            those,
            max(duty.unfinished or 0.0 for duty in those),
            limits.failing_duty,
            problem=f"has failed for {{seconds:.0f}} s: {error.replace('{', '{{').replace('}', '}}')}",
            advice="see the logs of the workers and of the server for the full error",
        )
    stuck = [each for each in found if each.error is None and (each.unfinished or 0.0) >= MISSED_RUNS * each.every]
    yield from _duty_findings(
        stuck,
        max((duty.unfinished or 0.0 for duty in stuck), default=0.0),
        limits.undone_duty,
        problem="has been running for {seconds:.0f} s",
        advice="check whether its process hangs, or is killed repeatedly",
    )
    left = [each for each in found if each not in stuck and each.overdue >= MISSED_RUNS * each.every]
    yield from _duty_findings(
        left,
        max((duty.overdue for duty in left), default=0.0),
        limits.undone_duty,
        problem="has been due for {seconds:.0f} s, but no process runs it",
        advice="run a worker or a server with maintenance",
    )


def _duty_findings(those: list[DutyState], seconds: float, bound: Bound, *, problem: str, advice: str) -> Findings:
    if those and (severity := bound.judge(seconds)):
        names = ", ".join(duty.name for duty in those)
        word = "duty" if len(those) == 1 else "each of the duties"
        sentence = f"{word} {names} {problem.format(seconds=seconds)}"
        yield Finding(severity=severity, check="duties", problem=sentence, advice=advice)


def _table_of(kind: UnprunedRecords) -> str:
    return "rolecall.finished_tasks" if kind.kind == "task_partitions" else "rolecall.task_events"


def uncounted_changes(found: list[UncountedTasks], limits: Limits) -> Findings:
    """Check that finished tasks are counted."""
    for those in found:
        if severity := limits.uncounted.judge(those.seconds):
            unseen = ", ".join(those.unseen)
            why = f": {unseen} may still commit" if unseen else ""
            yield Finding(
                severity=severity,
                check="history",
                problem=f"tasks finished in the last {those.seconds:.0f} s are not in the counts and the history{why}",
                advice=f"end it, or let this role see its start: grant pg_read_all_stats to {those.role}"
                if unseen
                else "run a worker with maintenance, and end the transaction that has been open since then",
            )


def leases(overdue: float | None, limits: Limits) -> Findings:
    """Check that tasks with expired leases are rescued."""
    if severity := limits.overdue.judge(overdue or 0.0):
        yield Finding(
            severity=severity,
            check="expired_leases",
            problem=f"a lease expired {overdue:.0f} s ago, but its task has not been rescued",
            advice="run a worker with maintenance, or `rolecall rescue`",
        )


def notifications(*, apart: bool) -> Findings:
    """Report that no notification arrives; `apart` means that they have a separate connection."""
    way = "ROLECALL_LISTEN_URL" if apart else "the connection"
    yield _warning(
        "notifications",
        f"LISTEN works, but nothing arrives: {way} goes through a transaction pooler, so workers poll every second",
        "set ROLECALL_LISTEN_URL to a direct connection, for workers and the API, or accept polling",
    )


def nowhere_to_listen(problem: str) -> Findings:
    """Report that the connection for notifications fails."""
    yield _warning(
        "notifications",
        f"listening for notifications fails, so workers poll every second: {problem}",
        "set ROLECALL_LISTEN_URL to a direct connection to the same database",
    )


def silent_relay(broker: str, problem: str) -> Findings:
    """Report that a broker relays no notifications."""
    yield _warning(
        "notifications",
        f"workers receive no notifications by {broker}, so they poll every second: {problem}",
        "check that it is up, and that `rolecall relay`, `serve` or `up` runs with the same ROLECALL_NOTIFICATIONS",
    )


def no_standby(problem: str) -> Findings:
    """Report that the standby does not respond."""
    yield _warning(
        "standby",
        f"the standby does not respond, so the primary serves its queries: {problem}",
        "start it, or unset ROLECALL_STANDBY_URL",
    )


def standby(found: StandbyFacts, cluster: str, limits: Limits) -> Findings:
    """Check that a standby belongs to this cluster and is up to date."""
    if found.cluster != cluster:
        yield _trouble(
            "standby",
            "ROLECALL_STANDBY_URL is a copy of another cluster: pages show data that is not this pool's",
            "set it to a standby of DATABASE_URL's server",
        )
    elif found.behind_bytes is not None and (severity := limits.standby_behind.judge(found.behind_bytes)):
        yield Finding(
            severity=severity,
            check="standby",
            problem=f"the standby lags by {found.behind_bytes / 2**20:,.0f} MB of the log: pages show old data",
            advice="check what delays its replay: a long query, its disk, or the network",
        )


def _warning(check: str, problem: str, advice: str) -> Finding:
    return Finding(severity=Severity.WARNING, check=check, problem=problem, advice=advice)


def endless_keys(found: list[ApiKey]) -> Findings:
    """Check for admin API keys that never expire: a leaked one gives permanent access."""
    for key in found:
        yield _warning(
            "endless_keys",
            f"the API key {key.id} ({key.name!r}) has the scope admin and never expires",
            f"create one that expires or has a lower scope, and then: rolecall keys revoke {key.id}",
        )


def _trouble(check: str, problem: str, advice: str) -> Finding:
    return Finding(severity=Severity.TROUBLE, check=check, problem=problem, advice=advice)
