"""The doctor finds each possible problem of a pool, which is provoked on a real server where possible."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier
from psycopg.types.json import Jsonb

from rolecall.db.connect import connect_async
from rolecall.db.migrator import grant_roles
from rolecall.model.audit import Actor
from rolecall.model.findings import Finding, Severity
from rolecall.model.operator.access import Scope
from rolecall.model.operator.doctor import Bound, Limits, PreparedTransaction, ServerFacts, StaleSlot, Verdict
from rolecall.service import health_checks
from rolecall.service.access import Keys
from rolecall.service.database import OneConnection
from rolecall.service.doctor import Doctor, notifications_arrive
from tests.logins import login
from tests.service.deaf import deaf

Connection = psycopg.Connection[Any]
STRICT = Limits(snapshot=Bound(0, 3_600), overdue=Bound(0.001, 3_600))
HEALTHY = ServerFacts(
    version_number=170_000,
    version="17.0",
    fsync=True,
    full_page_writes=True,
    synchronous_commit="on",
    isolation="read committed",
    autovacuum=True,
    queue_usage=0.0,
    frozen_age=1_000,
    clock=0.0,
    user="ada",
    schema="public",
    before_builtins=[],
)


@pytest.fixture
def pool(connection: Connection) -> Connection:
    """A healthy pool with one role."""
    connection.execute("select rolecall.make_partitions()")
    connection.execute("select rolecall.declare(%s)", [Jsonb([{"name": "work"}])])
    return connection


async def findings(dsn: str, limits: Limits | None = None) -> dict[str, Finding]:
    """Return the findings of a new session, by check, except `fsync`: the tests' server does not wait for the disk."""
    async with await connect_async(dsn, "patient") as connection:
        diagnosis = await Doctor(OneConnection(connection, Actor(name="ada", via="cli")), limits).examine()
    assert {found.check for found in diagnosis.findings} <= set(diagnosis.checks)
    return {found.check: found for found in diagnosis.findings if found.check != "fsync"}


def register(pool: Connection, *handlers: str) -> int:
    query = "select rolecall.register_worker('w', '{}', %s, 1, 'host', 1, '0')"
    [[worker]] = pool.execute(query, [list(handlers)]).fetchall()
    return int(worker)


def enqueue(pool: Connection) -> None:
    """Store a task that has waited for a minute."""
    pool.execute("select rolecall.enqueue_many(%s)", [Jsonb([{"role": "work"}])])
    pool.execute("update rolecall.tasks set created_at = created_at - interval '1 min'")
    pool.execute("update rolecall.tasks set scheduled_for = created_at")


@asynccontextmanager
async def setting(pool: Connection, name: str, value: str) -> AsyncIterator[None]:
    """Give every new session of the test's database this setting."""
    database = Identifier(pool.info.dbname)
    pool.execute(SQL("alter database {} set {} = {}").format(database, Identifier(name), value))
    yield
    pool.execute(SQL("alter database {} reset {}").format(database, Identifier(name)))


@pytest.mark.usefixtures("pool")
async def test_healthy_pool_has_no_findings(database: str) -> None:
    assert await findings(database) == {}


async def test_session_that_pins_the_oldest_snapshot_is_reported(database: str, pool: Connection) -> None:
    with psycopg.connect(database, application_name="report") as holder:
        holder.execute("set transaction isolation level repeatable read")
        holder.execute("select 'the long one'")
        pool.execute("select pg_current_xact_id()")

        found = (await findings(database, STRICT))["oldest_snapshot"]
        pid = holder.info.backend_pid

    assert f"session {pid} (report, idle in transaction)" in found.problem
    assert "the long one" in found.problem
    assert str(pid) in found.advice


@pytest.mark.parametrize(
    ("name", "value", "check", "severity"),
    [
        ("synchronous_commit", "off", "synchronous_commit", Severity.WARNING),
        ("default_transaction_isolation", "serializable", "isolation", Severity.WARNING),
        ("search_path", "rolecall", "search_path", Severity.WARNING),
        ("statement_timeout", "14s", "statement_timeout", Severity.WARNING),
        ("statement_timeout", "4s", "statement_timeout", Severity.TROUBLE),
    ],
)
async def test_harmful_setting_is_reported(  # sizes: a case's four parts and two fixtures
    database: str, pool: Connection, name: str, value: str, check: str, severity: Severity
) -> None:
    async with setting(pool, name, value):
        found = await findings(database)

    assert {check: finding.severity for check, finding in found.items()} == {check: severity}


async def test_schema_before_the_built_in_ones_is_reported(database: str, pool: Connection) -> None:
    name = Identifier(pool.info.dbname)
    pool.execute(SQL("alter database {} set search_path = public, pg_catalog").format(name))
    try:
        found = await findings(database)
    finally:
        pool.execute(SQL("alter database {} reset search_path").format(name))

    assert set(found) == {"search_path"}
    assert "names public before pg_catalog" in found["search_path"].problem


async def test_long_statement_timeout_is_no_finding(database: str, pool: Connection) -> None:
    async with setting(pool, "statement_timeout", "15s"):
        assert await findings(database) == {}


async def test_statement_timeout_of_a_connection_string_is_reported(database: str, pool: Connection) -> None:
    found = await findings(make_conninfo(database, options="-c statement_timeout=2s"))

    assert "statement_timeout is 2 s for login" in found["statement_timeout"].problem
    assert "source: client" in found["statement_timeout"].problem


async def test_statement_timeout_of_a_workers_login_is_reported(database: str, pool: Connection) -> None:
    grant_roles(pool)
    with login(database, "rolecall_work") as dsn, psycopg.connect(dsn, autocommit=True) as worker:
        worker.execute("select rolecall.register_worker('w', '{}', '{add}', 1, 'h', 1, '1')")
        pool.execute(SQL("alter role {} set statement_timeout = '200'").format(Identifier(worker.info.user)))

        found = (await findings(database))["statement_timeout"]

        assert f"statement_timeout is 0.2 s for login {worker.info.user}" in found.problem


@pytest.mark.parametrize(
    ("change", "severity"),
    [
        ("reset (autovacuum_vacuum_scale_factor)", Severity.WARNING),
        ("set (autovacuum_enabled = false)", Severity.TROUBLE),
    ],
)
async def test_hot_table_without_sufficient_vacuuming_is_reported(
    database: str, pool: Connection, change: str, severity: Severity
) -> None:
    pool.execute(f"alter table rolecall.tasks {change}".encode())

    found = (await findings(database))["table_care"]

    assert found.severity is severity
    assert "rolecall.tasks" in found.advice


async def test_worker_with_clock_skew_is_reported(database: str, pool: Connection) -> None:
    worker = register(pool)
    pool.execute("select rolecall.beat(%s, 0, false, %s)", [worker, Jsonb({"clock": time.time() + 3000})])

    found = (await findings(database))["clocks"]

    assert found.severity is Severity.TROUBLE
    [ahead] = re.findall(rf"worker {worker} \(w\) is (\d+) s ahead", found.problem)
    assert int(ahead) == pytest.approx(3000, abs=60)


async def test_tasks_of_an_unserved_role_are_reported(database: str, pool: Connection) -> None:
    enqueue(pool)

    found = (await findings(database))["no_worker"]

    assert (found.problem, found.count) == ("No worker is running; 1 task waits in role work.", 1)


async def test_tasks_of_a_handler_without_workers_are_reported(database: str, pool: Connection) -> None:
    enqueue(pool)
    register(pool, "other")

    found = (await findings(database))["no_handler"]

    assert found.problem == "No active worker of role work has the handler work; 1 task waits."


async def test_different_declarations_of_two_apps_are_reported(database: str, pool: Connection) -> None:
    for app in ("shop", "mail"):
        declaration = Jsonb({"handler": {"send": app}})
        pool.execute("select rolecall.declare_release(%s, %s, '1', %s)", (register(pool, "send"), app, declaration))

    found = (await findings(database))["contested_declarations"]

    assert found.problem == "the apps mail, shop declare the handler 'send' differently"


async def test_two_running_apps_with_one_name_are_reported(database: str, pool: Connection) -> None:
    for handler in ("send", "report"):
        declaration = Jsonb({"handler": {handler: "1"}})
        pool.execute(
            "select rolecall.declare_release(%s, 'shop', %s, %s)", (register(pool, handler), handler, declaration)
        )

    found = (await findings(database))["contested_declarations"]

    assert found.problem == "two running apps without a common handler are called 'shop'"


async def test_cancelled_tasks_need_no_worker(database: str, pool: Connection) -> None:
    enqueue(pool)
    pool.execute("select rolecall.cancel(array[1])")

    assert await findings(database) == {}


async def test_tasks_of_a_paused_role_need_no_worker(database: str, pool: Connection) -> None:
    enqueue(pool)
    pool.execute("select rolecall.pause_role('work')")

    assert (await findings(database)).keys() == {"paused"}


async def test_day_without_a_partition_is_reported_despite_a_table_of_that_name(
    database: str, pool: Connection
) -> None:
    [[tomorrow]] = pool.execute("select ((rolecall.clock() at time zone 'utc')::date + 1)::text").fetchall()
    name = Identifier("rolecall", f"task_events_{tomorrow.replace('-', '')}")
    pool.execute(SQL("drop table {}").format(name))
    pool.execute(SQL("create table {} (id int)").format(name))

    assert f"task_events of {tomorrow}" in (await findings(database))["partitions"].problem

    pool.execute("select rolecall.make_partitions()")
    assert "partitions" not in await findings(database)


def begin_duty(pool: Connection, name: str, *, ago: float, error: str | None = None) -> None:
    pool.execute("select rolecall.take_duty(%s, 5, 'w')", [name])
    if error:
        pool.execute("select rolecall.record_duty(%s, 5, 'w', %s)", [name, error])
    shift = "update rolecall.duties set unfinished_since = unfinished_since - make_interval(secs => %s) where name = %s"
    pool.execute(shift, [ago, name])


async def test_failing_duty_is_reported_with_its_error(database: str, pool: Connection) -> None:
    begin_duty(pool, "rescue", ago=20, error="out of shared memory")
    assert "duties" not in await findings(database)
    error = 'date/time field value out of range: "97559544" {}'
    for name in ("counting", "history"):
        begin_duty(pool, name, ago=90, error=error)

    found = (await findings(database))["duties"]

    assert found.severity is Severity.WARNING
    assert re.fullmatch(
        rf"each of the duties counting, history has failed for 9\d s: {re.escape(error)}", found.problem
    )


async def test_duty_that_never_ends_is_reported(database: str, pool: Connection) -> None:
    begin_duty(pool, "housekeeping", ago=700)

    assert "housekeeping has been running for 7" in (await findings(database))["duties"].problem


async def test_duties_done_by_no_process_are_one_finding(database: str, pool: Connection) -> None:
    for name in ("counting", "rescue"):
        pool.execute("select rolecall.take_duty(%s, 5, 'w'), rolecall.record_duty(%s, 5, 'w')", [name, name])
    assert await findings(database) == {}
    pool.execute("update rolecall.duties set next_at = next_at - interval '2 hours'")

    found = (await findings(database))["duties"]

    assert found.severity is Severity.TROUBLE
    assert "counting, rescue has been due for 7" in found.problem


@pytest.mark.parametrize(
    ("kind", "changed", "expected"),
    [
        (
            "task_partitions",
            "next_at = rolecall.clock(), in_use_since = rolecall.clock() - interval '2 hours'",
            "finished",
        ),
        (
            "event_partitions",
            "next_at = rolecall.clock(), in_use_since = rolecall.clock() - interval '2 hours'",
            "events",
        ),
        ("keys", "next_at = rolecall.clock() - interval '2 hours'", "keys have not been pruned"),
    ],
)
async def test_data_past_its_retention_is_reported(
    database: str, pool: Connection, kind: str, changed: str, expected: str
) -> None:
    query = SQL("update rolecall.retention set {} where kind = %s")
    pool.execute(query.format(SQL(changed)), [kind])

    assert expected in (await findings(database))["retention"].problem


async def test_expired_lease_that_nobody_rescues_is_reported(database: str, pool: Connection) -> None:
    enqueue(pool)
    worker = register(pool, "work")
    pool.execute("select from rolecall.claim(%s, '{}', '{work}', 1)", [worker])
    pool.execute("update rolecall.tasks set lease_until = lease_until - interval '10 min'")

    found = await findings(database)

    assert found["expired_leases"].severity is Severity.TROUBLE


async def test_uncounted_finished_tasks_are_reported_with_the_likely_session(database: str, pool: Connection) -> None:
    enqueue(pool)
    enqueue(pool)
    pool.execute("select rolecall.complete_task(1)")
    pool.execute("update rolecall.counted_until set moment = rolecall.clock() - interval '10 min'")
    with psycopg.connect(database) as holder:
        holder.tpc_begin("the shop's")
        holder.execute("select rolecall.complete_task(2)")
        holder.tpc_prepare()

        found = (await findings(database))["history"]
        holder.tpc_rollback()

    assert found.severity is Severity.WARNING
    assert "the shop's" in found.problem
    assert f"grant pg_read_all_stats to {pool.info.user}" in found.advice


@pytest.mark.usefixtures("pool")
async def test_pooler_that_drops_notifications_is_reported(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rolecall.service.doctor.notifications_arrive", partial(notifications_arrive, within=0.2))
    async with deaf(database) as through:
        found = await findings(through)

    assert found.keys() == {"notifications"}


@pytest.mark.parametrize(
    ("change", "check", "severity"),
    [
        ({"version_number": 140_000}, "server_version", Severity.TROUBLE),
        ({"fsync": False}, "fsync", Severity.TROUBLE),
        ({"full_page_writes": False}, "full_page_writes", Severity.TROUBLE),
        ({"autovacuum": False}, "autovacuum", Severity.TROUBLE),
        ({"queue_usage": 0.3}, "notification_queue", Severity.WARNING),
        ({"queue_usage": 0.8}, "notification_queue", Severity.TROUBLE),
        ({"frozen_age": 1_500_000_000}, "frozen_age", Severity.WARNING),
    ],
    ids=str,
)
def test_unchangeable_server_settings_are_judged_by_the_rule_alone(
    change: dict[str, Any], check: str, severity: Severity
) -> None:
    server = replace(HEALTHY, **change)

    [found] = [*health_checks.settings(server, Limits()), *health_checks.counters(server, Limits())]

    assert (found.check, found.severity) == (check, severity)


def test_prepared_transaction_and_unread_replication_slot_are_reported() -> None:
    [prepared] = health_checks.prepared_transactions([PreparedTransaction("t1", 4_000.0)], Limits())
    [slot] = health_checks.slots([StaleSlot("standby", 3 * 2**20)], Limits())

    assert (prepared.severity, slot.severity) == (Severity.TROUBLE, Severity.WARNING)
    assert "3 MB" in slot.problem


async def test_all_checks_run_without_permission_to_read_the_log_position(database: str, pool: Connection) -> None:
    name = f"tenant_{uuid4().hex[:12]}"
    pool.execute("revoke execute on function pg_current_wal_lsn() from public")
    pool.execute(SQL("create role {0}; grant usage on schema rolecall to {0}").format(Identifier(name)))
    pool.execute(SQL("grant select on all tables in schema rolecall to {}").format(Identifier(name)))
    try:
        async with await connect_async(database, "test") as connection:
            await connection.execute(SQL("set role {}").format(Identifier(name)))
            tenant = OneConnection(connection, Actor(name="ada", via="cli"))
            diagnosis = await Doctor(tenant).examine(listening=False)
    finally:
        pool.execute(SQL("drop owned by {0}; drop role {0}").format(Identifier(name)))

    assert {found.check for found in diagnosis.findings} <= {"fsync"}


def test_replication_slot_without_a_visible_backlog_is_reported() -> None:
    [found] = health_checks.slots([StaleSlot("standby", None)], Limits())

    assert found.severity is Severity.WARNING
    assert "an unknown amount of the log" in found.problem


@pytest.mark.parametrize(("here", "way"), [(9.0, "9 s ahead of"), (-9.0, "9 s behind")])
def test_clock_skew_of_this_machine_is_reported(here: float, way: str) -> None:
    [found] = health_checks.clocks([], here, Limits())

    assert found.problem == f"the clock of this machine is {way} the database's"


async def test_worst_finding_comes_first_and_determines_the_verdict(database: str, pool: Connection) -> None:
    pool.execute("alter table rolecall.tasks reset (autovacuum_vacuum_scale_factor)")
    enqueue(pool)
    async with await connect_async(database, "patient") as connection:
        diagnosis = await Doctor(OneConnection(connection, Actor(name="ada", via="cli"))).examine()

    found = [finding.check for finding in diagnosis.findings if finding.check != "fsync"]
    assert found == ["no_worker", "table_care"]
    assert diagnosis.verdict is Verdict.TROUBLE


async def test_admin_key_without_an_expiry_is_reported(pool: Connection, database: str) -> None:
    async with await connect_async(database, "test") as connection:
        keys = Keys(OneConnection(connection, Actor(name="ada", via="cli")))
        made = [
            (await keys.create(name, scope, days)).key.id
            for name, scope, days in (
                ("for ever", Scope.ADMIN, None),
                ("a month", Scope.ADMIN, 30),
                ("reads", Scope.READ, None),
                ("gone", Scope.ADMIN, None),
            )
        ]
        await keys.revoke(made[-1])

    found = await findings(database)

    assert list(found) == ["endless_keys"]
    assert found["endless_keys"].problem.startswith(f"the API key {made[0]} ('for ever')")
    assert found["endless_keys"].advice.endswith(f"rolecall keys revoke {made[0]}")
