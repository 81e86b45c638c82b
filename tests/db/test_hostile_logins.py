"""A login of each role calls every granted function, with objects that could give it the owner's rights."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

import rolecall
from rolecall.db.connect import connect
from rolecall.db.migrator import grant_roles
from tests.db.hostile import arm, calls_of, granted_functions
from tests.db.shop import Connection
from tests.logins import login

ROLES = ("rolecall_enqueue", "rolecall_read", "rolecall_work", "rolecall_operate")
PRODUCT = Path(rolecall.__file__).parent
UPKEEP = (
    "prune()", "prune_due()", "rescue()", "expire()", "roll_up_counts()", "roll_up_history()", "end_pauses()",
    "fire_schedules()", "make_partitions()", "unpark_due()", "unseen_workers()",
)  # fmt: skip
TABLES = ("audit_log", "finished_tasks", "task_events", "history", "workers", "requests", "api_keys", "sessions")
POOL = """\
select rolecall.declare('[{"name": "default"}]', '[{"name": "add", "role": "default"}]');
select rolecall.register_worker('w', '{}', '{add}', 9, 'h', 1, '1');
select rolecall.enqueue('default', '{}', p_handler => 'add', p_key => 'k' || n) from generate_series(1, 4) as n;
select rolecall.claim(1, '{}', '{add}', 2);
select rolecall.finish(1, '[{"id": 1, "fence": 1, "outcome": "completed"}]');
select rolecall.record_audit('ada', 'cli', null, 'test', '{}', null);
select rolecall.create_api_key('deploy', 'read', 'rk_1', sha256('1'), null);
select rolecall.roll_up_history();
"""
MERGER = """\
create schema shop;
grant usage on schema shop to public;
create function shop.merged(old jsonb, new jsonb) returns jsonb language plpgsql as
    $$ declare v_text text; begin v_text := 'x'; return old || new; end $$;
"""
MERGED = """\
[{"role": "default", "handler": "add", "payload": {}, "dedupe_key": "k",
  "dedupe": {"mode": "merge", "merge": {"function": "shop.merged"}}}]
"""


@pytest.fixture(autouse=True)
def pool(connection: Connection) -> None:
    grant_roles(connection)
    connection.execute(POOL)


@contextmanager
def armed(owner: str, role: str) -> Iterator[Connection]:
    with login(owner, role) as dsn, connect(dsn, "test") as conn:
        arm(conn)
        yield conn
        # Otherwise the server drops these at the end of the session, concurrently with `drop owned` of the login.
        conn.execute("discard temp")


def functions_that_run_code_of(conn: Connection, owner: Connection) -> tuple[set[str], int]:
    """Call every granted function; return those that ran the caller's code with other rights, and their number."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    signature = ""
    conn.add_notice_handler(
        lambda notice: (
            found[signature].append(notice.message_primary or "")
            if "runs as" in (notice.message_primary or "")
            else None
        )
    )
    granted = granted_functions(owner, conn.info.user)
    for signature, types, _ in granted:
        for call in calls_of(signature, types):
            try:
                with conn.transaction(force_rollback=True):
                    conn.execute(call.encode())
            except psycopg.Error:
                pass
    return set(found), len(granted)


@pytest.mark.parametrize("role", ROLES)
def test_granted_functions_run_no_code_of_their_caller(database: str, connection: Connection, role: str) -> None:
    with armed(database, role) as conn:
        ran, called = functions_that_run_code_of(conn, connection)

    assert called >= 4
    assert ran == set()


@pytest.mark.parametrize("role", ROLES)
def test_check_detects_functions_without_pg_temp_in_their_search_path(
    database: str, connection: Connection, role: str
) -> None:
    for (name,) in connection.execute(
        "select oid::regprocedure::text from pg_proc where pronamespace = 'rolecall'::regnamespace and proconfig is not null"
    ).fetchall():
        connection.execute(f"alter routine {name} set search_path = ''".encode())

    with armed(database, role) as conn:
        ran, _ = functions_that_run_code_of(conn, connection)

    assert ran != set()


@pytest.mark.parametrize("role", ["rolecall_work", "rolecall_operate"])
def test_faked_clock_removes_and_reassigns_nothing(database: str, connection: Connection, role: str) -> None:
    def rows(table: str) -> int:
        [(number,)] = connection.execute(f"select count(*) from rolecall.{table}".encode())
        return int(number)

    def open_tasks() -> list[object]:
        return connection.execute("select id, state, fence, worker_id from rolecall.tasks order by id").fetchall()

    stored, tasks = {table: rows(table) for table in TABLES}, open_tasks()
    with login(database, role) as dsn, connect(dsn, "test") as conn:
        conn.execute("set rolecall.fake_now = '2100-01-01'")
        for call in UPKEEP:
            conn.execute(f"select * from rolecall.{call}".encode())

    assert {table: rows(table) for table in TABLES} | {"history": stored["history"]} == stored
    assert rows("history") >= stored["history"] > 0
    assert open_tasks() == tasks


@pytest.mark.parametrize("role", ROLES)
def test_faked_clock_applies_to_the_owner_only(database: str, connection: Connection, role: str) -> None:
    with login(database, role) as dsn, connect(dsn, "test") as conn:
        conn.execute("set rolecall.fake_now = '2100-01-01'")
        conn.execute("select rolecall.enqueue('default', '{}')") if role != "rolecall_read" else None
    connection.execute("set rolecall.fake_now = '2100-01-01'")

    assert connection.execute("select max(created_at) < '2090-01-01' from rolecall.tasks").fetchone() == (True,)
    assert connection.execute("select rolecall.clock() = '2100-01-01'").fetchone() == (True,)


def test_login_with_delete_privilege_cannot_fake_the_age_of_audit_entries(
    database: str, connection: Connection
) -> None:
    with login(database, "rolecall_read") as dsn, connect(dsn, "test") as conn:
        connection.execute(f"grant select, delete on rolecall.audit_log to {conn.info.user}".encode())
        conn.execute("set rolecall.fake_now = '2100-01-01'")

        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="the audit log cannot be changed"):
            conn.execute("delete from rolecall.audit_log")


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    "lock",
    [
        "select from rolecall.latches for update",
        "select from rolecall.latches for key share",
        "select from rolecall.schema_migrations for key share",
        "lock table rolecall.schema_migrations in share row exclusive mode",
        "lock table rolecall.latches in row exclusive mode",
    ],
)
def test_logins_cannot_take_the_locks_of_the_engine(database: str, role: str, lock: str) -> None:
    with (
        login(database, role) as dsn,
        connect(dsn, "test") as conn,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
        conn.transaction(),
    ):
        conn.execute(lock.encode())


def test_product_takes_no_advisory_locks() -> None:
    """Every login of the database could take the same lock and keep it."""
    taking = [
        str(file.relative_to(PRODUCT))
        for pattern in ("*.py", "*.sql")
        for file in PRODUCT.rglob(pattern)
        if re.search(r"pg_(try_)?advisory_", file.read_text(encoding="utf-8")) and file.parent.name != "migrations"
    ]

    assert taking == []


def test_claim_waits_for_no_lock_that_another_login_can_take(database: str, connection: Connection) -> None:
    numbers = "generate_series(0, 1023) as number"
    with login(database) as dsn, connect(dsn, "test") as stranger, stranger.transaction():
        for kind in (7246925, 7246926, 7246927):
            stranger.execute(f"select pg_advisory_xact_lock({kind}, number) from {numbers}".encode())
        connection.execute("select rolecall.enqueue('default', '{}', p_handler => 'add', p_key => 'new')")

        claimed = connection.execute("select key from rolecall.claim(1, '{}', '{add}', 9)").fetchall()

    assert ("new",) in claimed


def test_merge_function_compiled_by_its_caller_does_not_run_with_owners_rights(
    database: str, connection: Connection
) -> None:
    connection.execute(MERGER)
    with armed(database, "rolecall_enqueue") as conn:
        result: list[str] = []
        conn.add_notice_handler(lambda notice: result.append(notice.message_primary or ""))
        conn.execute("select shop.merged('{}', '{}')")
        conn.execute("select * from rolecall.enqueue_many(%s::pg_catalog.jsonb)", (MERGED,))
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="revoke execute on it from public"):
            conn.execute("select * from rolecall.enqueue_many(%s::pg_catalog.jsonb)", (MERGED,))

    assert result == []


@pytest.mark.parametrize(
    "remedy",
    [
        "alter function shop.merged(jsonb, jsonb) set search_path = shop, pg_temp",
        "revoke execute on function shop.merged(jsonb, jsonb) from public",
        "revoke usage on schema shop from public",
    ],
)
def test_merge_function_that_its_caller_cannot_prepare_is_run(
    database: str, connection: Connection, remedy: str
) -> None:
    connection.execute(MERGER)
    connection.execute(remedy.encode())
    with login(database, "rolecall_enqueue") as dsn, connect(dsn, "test") as conn:
        first = conn.execute("select ids from rolecall.enqueue_many(%s)", (MERGED,)).fetchone()

        assert conn.execute("select ids from rolecall.enqueue_many(%s)", (MERGED,)).fetchone() == first
