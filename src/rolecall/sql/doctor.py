"""Typed calls that look at the health of the server and of the pool; they change nothing."""

# ruff: noqa: S608 - only this module's own constants are built into a query

from __future__ import annotations

from collections.abc import Callable
from itertools import starmap
from typing import TypeVar

from rolecall.model.doctor import (
    ClockOfWorker,
    DutyState,
    OldSnapshot,
    PreparedTransaction,
    ServerFacts,
    StaleSlot,
    StandbyFacts,
    StrandedWork,
    TableCare,
    Uncounted,
    Unpruned,
)
from rolecall.sql.statement import Row, Statement, single

__all__ = [
    "clocks",
    "duties",
    "how_far_behind",
    "how_far_written",
    "missing_partitions",
    "oldest_snapshot",
    "overdue_leases",
    "prepared_transactions",
    "server",
    "stale_slots",
    "stranded_work",
    "tables",
    "uncounted",
    "unpruned",
]

T = TypeVar("T")


def server() -> Statement[ServerFacts]:
    """Ask how the server is set up."""
    return Statement(
        query=(
            "select current_setting('server_version_num')::int, current_setting('server_version'),"
            " current_setting('fsync')::bool, current_setting('full_page_writes')::bool,"
            " current_setting('synchronous_commit'),"
            # Our own connections may have set another one.
            " (select reset_val from pg_settings where name = 'default_transaction_isolation'),"
            " current_setting('autovacuum')::bool, pg_notification_queue_usage(),"
            " age(datfrozenxid), extract(epoch from clock_timestamp())::float8,"
            " current_user, coalesce(current_schema(), '')"
            " from pg_database where datname = current_database()"
        ),
        read=lambda rows: ServerFacts(*rows[0]),
    )


def how_far_written() -> Statement[tuple[str, str]]:
    """Ask which cluster it is, and where its log ends now."""
    return Statement(
        query="select system_identifier::text, pg_current_wal_flush_lsn()::text from pg_control_system()",
        read=lambda rows: (rows[0][0], rows[0][1]),
    )


def how_far_behind(written: str) -> Statement[StandbyFacts]:
    """Ask a standby what it is a copy of, and how much of the log up to a position it does not know yet."""
    return Statement(
        query=(
            "select system_identifier::text, pg_is_in_recovery(), case when pg_is_in_recovery() then"
            " greatest(pg_wal_lsn_diff(%s::pg_lsn, pg_last_wal_replay_lsn()), 0)::bigint end"
            " from pg_control_system()"
        ),
        params=(written,),
        read=lambda rows: StandbyFacts(*rows[0]),
    )


def oldest_snapshot() -> Statement[list[OldSnapshot]]:
    """Find the session, if any, that pins the oldest snapshot of this database, other than this one."""
    return Statement(
        query=(
            "select pid, extract(epoch from clock_timestamp() - xact_start)::float8, application_name,"
            " coalesce(state, ''), coalesce(left(query, 200), ''),"
            " coalesce(extract(epoch from clock_timestamp() - query_start), 0)::float8"
            " from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
            " and coalesce(backend_xmin, backend_xid) is not null and xact_start is not null"
            " order by greatest(age(backend_xmin), age(backend_xid)) desc, xact_start limit 1"
        ),
        read=_each(OldSnapshot),
    )


def prepared_transactions() -> Statement[list[PreparedTransaction]]:
    """List the transactions of this database that wait for the second phase of their commit."""
    return Statement(
        query=(
            "select gid, extract(epoch from clock_timestamp() - prepared)::float8 from pg_prepared_xacts"
            " where database = current_database() order by prepared"
        ),
        read=_each(PreparedTransaction),
    )


def stale_slots(*, measured: bool = True) -> Statement[list[StaleSlot]]:
    """List the replication slots that nobody reads, `measured` by where the log ends: some servers tell nobody."""
    kept = "pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)" if measured else "null"
    return Statement(
        query=(
            f"select slot_name, case when restart_lsn is null then 0 else {kept} end::bigint"
            " from pg_replication_slots where not active order by slot_name"
        ),
        read=_each(StaleSlot),
    )


def tables() -> Statement[list[TableCare]]:
    """Ask how our tables are cleaned up; only those that are hot need settings of their own."""
    return Statement(
        query=(
            "select relname, (option ->> 'autovacuum_enabled' = 'false') is not true,"
            " relname <> 'tasks' or option ?& array['autovacuum_vacuum_scale_factor', 'autovacuum_vacuum_cost_delay']"
            " from pg_class join pg_namespace as space on space.oid = relnamespace cross join lateral ("
            " select coalesce(jsonb_object_agg(option_name, option_value), '{}') as option"
            " from pg_options_to_table(reloptions)) as said"
            " where space.nspname = 'rolecall' and relkind = 'r' order by relname"
        ),
        read=_each(TableCare),
    )


def clocks() -> Statement[list[ClockOfWorker]]:
    """Ask how far the clocks of the active workers are off."""
    return Statement(
        query=(
            "select id, name, clock_ahead from rolecall.all_workers"
            " where active and clock_ahead is not null order by id"
        ),
        read=_each(ClockOfWorker),
    )


def stranded_work() -> Statement[list[StrandedWork]]:
    """List what is due and nobody would claim."""
    return Statement(
        query="select role, handler, tasks, workers from rolecall.stranded_work()", read=_each(StrandedWork)
    )


def missing_partitions() -> Statement[list[str]]:
    """List the partitions of today and tomorrow that are missing, as `finished_tasks of 2026-01-31`."""
    return Statement(
        query=(
            "select parent || ' of ' || day from unnest(array['finished_tasks', 'task_events']) as parent"
            " cross join generate_series(0, 1) as ahead"
            " cross join lateral (select (rolecall.clock() at time zone 'utc')::date + ahead as day) as wanted"
            " where not exists (select from rolecall.partitions_of(('rolecall.' || parent)::regclass) as made"
            " where made.begins <= day::timestamp at time zone 'utc' and made.ends > day::timestamp at time zone 'utc')"
            " order by 1"
        ),
        read=lambda rows: [name for (name,) in rows],
    )


def unpruned() -> Statement[list[Unpruned]]:
    """List the kinds that should have been pruned by now; a pool that nobody has ever pruned has nothing to prune."""
    return Statement(
        query=(
            "select kind, greatest(extract(epoch from rolecall.clock() - next_at)::float8, 0),"
            " extract(epoch from rolecall.clock() - in_use_since)::float8"
            " from rolecall.retention where isfinite(next_at) order by kind"
        ),
        read=_each(Unpruned),
    )


def duties() -> Statement[list[DutyState]]:
    """List the duties that were begun once, by name, and how their runs go."""
    return Statement(
        query="select name, every, overdue, unfinished, succeeded_at, error from rolecall.duties_now()",
        read=_each(DutyState),
    )


def overdue_leases() -> Statement[float | None]:
    """Ask since how many seconds the longest lease has run out that nobody rescues; None where there is none."""
    return Statement(
        query=(
            "select extract(epoch from rolecall.clock() - min(lease_until))::float8 from rolecall.tasks"
            " where state = 'running' and lease_until < rolecall.clock()"
        ),
        read=single,
    )


def uncounted() -> Statement[list[Uncounted]]:
    """Ask since when nothing that ended was counted, where something has ended since."""
    return Statement(
        query=(
            "select extract(epoch from rolecall.clock() - counted.moment)::float8,"
            " array(select late.known_as || ' of ' || late.user_name"
            " from rolecall.late_committers() as late where late.began is null), current_user::text"
            " from rolecall.counted_until as counted where isfinite(counted.moment) and exists ("
            "select from rolecall.finished_tasks as task where task.finished_at >= counted.moment)"
        ),
        read=_each(Uncounted),
    )


def _each(build: Callable[..., T]) -> Callable[[list[Row]], list[T]]:
    return lambda rows: list(starmap(build, rows))
