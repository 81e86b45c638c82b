"""Typed calls for the doctor's checks of the server and the pool. They change nothing."""

# ruff: noqa: S608 - only this module's own constants are built into a query

from __future__ import annotations

from collections.abc import Callable
from itertools import starmap
from typing import TypeVar

from rolecall.model.operator.doctor import (
    ClockOfWorker,
    DutyState,
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
from rolecall.sql.statement import Row, Statement, single

T = TypeVar("T")


def server() -> Statement[ServerFacts]:
    """Read the server's settings."""
    return Statement(
        query=(
            "select current_setting('server_version_num')::int, current_setting('server_version'),"
            " current_setting('fsync')::bool, current_setting('full_page_writes')::bool,"
            " current_setting('synchronous_commit'),"
            # The default, because our own connections may have set another level.
            " (select reset_val from pg_settings where name = 'default_transaction_isolation'),"
            " current_setting('autovacuum')::bool, pg_notification_queue_usage(),"
            " age(datfrozenxid), extract(epoch from clock_timestamp())::float8,"
            " current_user, coalesce(current_schema(), ''),"
            " path.names[:array_position(path.names, 'pg_catalog') - 1]"
            " from pg_database cross join lateral (select current_schemas(true)::text[] as names) as path"
            " where datname = current_database()"
        ),
        read=lambda rows: ServerFacts(*rows[0]),
    )


def statement_timeouts() -> Statement[list[StatementTimeout]]:
    """Read the `statement_timeout` of this login, and those that are set for the logins of other workers."""
    return Statement(
        query=(
            # The default, because it may be changed for this session only.
            "select session_user::text, reset_val::float8 / 1000, source from pg_settings"
            " where name = 'statement_timeout' and reset_val <> '0'"
            " union all (select distinct on (login.rolname) login.rolname::text, given.seconds, 'user'"
            " from pg_db_role_setting as setting join pg_roles as login on login.oid = setting.setrole"
            " cross join unnest(setting.setconfig) as line"
            " cross join lateral (select split_part(line, '=', 2) as text) as value"
            " cross join lateral (select case when value.text ~ '^[0-9.]+$' then value.text::float8 / 1000"
            " else extract(epoch from value.text::interval)::float8 end as seconds) as given"
            " where line like 'statement_timeout=%%' and login.rolname <> session_user"
            " and setting.setdatabase in (0, (select oid from pg_database where datname = current_database()))"
            " and login.rolname in (select login from rolecall.workers where stopped_at is null)"
            " and given.seconds > 0 order by login.rolname, setting.setdatabase desc)"
        ),
        read=_each(StatementTimeout),
    )


def how_far_written() -> Statement[tuple[str, str]]:
    """Read the cluster's identifier and the end of its WAL."""
    return Statement(
        query="select system_identifier::text, pg_current_wal_flush_lsn()::text from pg_control_system()",
        read=lambda rows: (rows[0][0], rows[0][1]),
    )


def how_far_behind(written: str) -> Statement[StandbyFacts]:
    """Read a standby's cluster identifier, and how many bytes it lacks up to a WAL position."""
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
    """Find the session with the oldest snapshot of this database, if any, except this one."""
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
    """List the prepared transactions of this database."""
    return Statement(
        query=(
            "select gid, extract(epoch from clock_timestamp() - prepared)::float8 from pg_prepared_xacts"
            " where database = current_database() order by prepared"
        ),
        read=_each(PreparedTransaction),
    )


def stale_slots(*, measured: bool = True) -> Statement[list[StaleSlot]]:
    """List the replication slots without a reader, with the retained WAL if it can be `measured` on this server."""
    retained = "pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)" if measured else "null"
    return Statement(
        query=(
            f"select slot_name, case when restart_lsn is null then 0 else {retained} end::bigint"
            " from pg_replication_slots where not active order by slot_name"
        ),
        read=_each(StaleSlot),
    )


def tables() -> Statement[list[TableAutovacuum]]:
    """Read the autovacuum settings of our tables. Only frequently updated tables need their own."""
    return Statement(
        query=(
            "select relname, (option ->> 'autovacuum_enabled' = 'false') is not true,"
            " relname <> 'tasks' or option ?& array['autovacuum_vacuum_scale_factor', 'autovacuum_vacuum_cost_delay']"
            " from pg_class join pg_namespace as space on space.oid = relnamespace cross join lateral ("
            " select coalesce(jsonb_object_agg(option_name, option_value), '{}') as option"
            " from pg_options_to_table(reloptions)) as option"
            " where space.nspname = 'rolecall' and relkind = 'r' order by relname"
        ),
        read=_each(TableAutovacuum),
    )


def clocks() -> Statement[list[ClockOfWorker]]:
    """Read the clock differences of the active workers."""
    return Statement(
        query=(
            "select id, name, clock_ahead from rolecall.all_workers"
            " where active and clock_ahead is not null order by id"
        ),
        read=_each(ClockOfWorker),
    )


def missing_partitions() -> Statement[list[str]]:
    """List the missing partitions of today and tomorrow, in the form `finished_tasks of 2026-01-31`."""
    return Statement(
        query=(
            "select parent || ' of ' || day from unnest(array['finished_tasks', 'task_events']) as parent"
            " cross join generate_series(0, 1) as ahead"
            " cross join lateral (select (rolecall.clock() at time zone 'utc')::date + ahead as day) as expected"
            " where not exists (select from rolecall.partitions_of(('rolecall.' || parent)::regclass) as made"
            " where made.begins <= day::timestamp at time zone 'utc' and made.ends > day::timestamp at time zone 'utc')"
            " order by 1"
        ),
        read=lambda rows: [name for (name,) in rows],
    )


def unpruned_records() -> Statement[list[UnprunedRecords]]:
    """List the kinds of records whose pruning is due. A pool that was never pruned has none."""
    return Statement(
        query=(
            "select kind, greatest(extract(epoch from rolecall.clock() - next_at)::float8, 0),"
            " extract(epoch from rolecall.clock() - in_use_since)::float8"
            " from rolecall.retention where isfinite(next_at) order by kind"
        ),
        read=_each(UnprunedRecords),
    )


def duties() -> Statement[list[DutyState]]:
    """List the duties that were ever started, by name, with the state of their runs."""
    return Statement(
        query="select name, every, overdue, unfinished, succeeded_at, error from rolecall.duties_now()",
        read=_each(DutyState),
    )


def overdue_leases() -> Statement[float | None]:
    """Return how many seconds ago the oldest lease expired that was not rescued; None if there is none."""
    return Statement(
        query=(
            "select extract(epoch from rolecall.clock() - min(lease_until))::float8 from rolecall.tasks"
            " where state = 'running' and lease_until < rolecall.clock()"
        ),
        read=single,
    )


def uncounted_tasks() -> Statement[list[UncountedTasks]]:
    """Return since when finished tasks have not been counted, if any have finished since."""
    return Statement(
        query=(
            "select extract(epoch from rolecall.clock() - counted.moment)::float8,"
            " array(select late.known_as || ' of ' || late.user_name"
            " from rolecall.late_committers() as late where late.began is null), current_user::text"
            " from rolecall.counted_until as counted where isfinite(counted.moment) and exists ("
            "select from rolecall.finished_tasks as task where task.finished_at >= counted.moment)"
        ),
        read=_each(UncountedTasks),
    )


def _each(build: Callable[..., T]) -> Callable[[list[Row]], list[T]]:
    return lambda rows: list(starmap(build, rows))
