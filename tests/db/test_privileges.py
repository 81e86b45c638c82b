"""The rights of the four database roles, read from the catalog and tested."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from rolecall.db.connect import connect
from rolecall.db.migrator import grant_roles, migrate
from rolecall.db.privileges import roles_text
from rolecall.model.errors import ConfigError
from rolecall.testing import TestServer, clone
from tests.db.shop import Connection
from tests.logins import login
from tools.engine import Engine

ROLES = ("rolecall_enqueue", "rolecall_read", "rolecall_work", "rolecall_operate")
ROOT = Path(__file__).resolve().parents[2]
OWNERS_ALONE = {"declare_procedure", "keep_audit", "process_tasks"}
LENT = """\
select proname from pg_proc
where pronamespace = 'rolecall'::regnamespace and prosecdef and has_function_privilege(%s, oid, 'execute')
order by proname
"""
WRITES = """\
select relname, what from pg_class, unnest(array['insert', 'update', 'delete', 'truncate', 'references', 'trigger']) as what
where relnamespace = 'rolecall'::regnamespace and relkind in ('r', 'p', 'v') and has_table_privilege(%s, oid, what)
"""
CHANGES_SOMETHING = """\
select proname from pg_proc
where pronamespace = 'rolecall'::regnamespace and provolatile = 'v' and proname not in ('clock', 'status_of', 'late_committers') and not prosecdef
    and has_function_privilege(%s, oid, 'execute')
"""
WITHOUT_A_PATH = """\
select proname, lanname, prosecdef from pg_proc join pg_language on pg_language.oid = prolang
where pronamespace = 'rolecall'::regnamespace and not coalesce(proconfig::text, '') like '%%search_path=%%'
    and has_function_privilege(%s, pg_proc.oid, 'execute')
order by proname
"""
GRANTED = """\
select proname, prosecdef from pg_proc
where pronamespace = 'rolecall'::regnamespace and has_function_privilege(%s, oid, 'execute')
"""
OWN_MERGER = """\
create schema own; grant usage on schema own to public;
create function own.merged(jsonb, jsonb) returns jsonb language sql as $$select to_jsonb(current_user::text)$$;
"""
MERGED_BY_OWN = """\
[{"role": "default", "handler": "add", "payload": {}, "dedupe_key": "k",
  "dedupe": {"mode": "merge", "merge": {"function": "own.merged"}}}]
"""
OWN_PROCEDURE = """\
create schema own;
create procedure own.run(payload jsonb, inout info jsonb) language sql as 'select to_jsonb(current_user::text)';
"""
FIND_OTHERS = """\
create schema helpers;
create table helpers.told (who text);
create procedure helpers.run(payload jsonb, inout info jsonb) language plpgsql as
    $$begin insert into told values (current_user); end$$;
"""
SQL_TASK = '[{"role": "default", "handler": "told", "payload": {}}]'


@pytest.fixture(autouse=True)
def granted(connection: Connection) -> None:
    grant_roles(connection)
    connection.execute("""select rolecall.declare('[{"name": "default"}]', '[{"name": "add", "role": "default"}]')""")


@pytest.fixture
def enqueuer(database: str) -> Iterator[Connection]:
    with login(database, "rolecall_enqueue") as dsn, connect(dsn, "test") as conn:
        yield conn


@pytest.fixture
def worker(database: str) -> Iterator[Connection]:
    with login(database, "rolecall_work") as dsn, connect(dsn, "test") as conn:
        yield conn


@pytest.fixture
def reader(database: str) -> Iterator[Connection]:
    with login(database, "rolecall_read") as dsn, connect(dsn, "test") as conn:
        yield conn


def lent(connection: Connection, role: str) -> set[str]:
    return {name for (name,) in connection.execute(LENT, (role,))}


def test_every_public_function_is_granted_to_a_role_or_owner_only(connection: Connection) -> None:
    named = {name for role in ROLES for name in lent(connection, role)} | OWNERS_ALONE
    views = {name for (name,) in connection.execute("select relname from pg_class where relkind = 'v'")}
    triggers = "select proname from pg_proc where prorettype = 'trigger'::regtype"
    public = {made.name for made in Engine.read(ROOT).objects if made.is_public}
    unsaid = public - named - views - {name for (name,) in connection.execute(triggers)}

    assert unsaid == set(), "grant these functions in src/rolecall/db/roles.sql, or add them to OWNERS_ALONE"


@pytest.mark.parametrize("role", ROLES)
def test_roles_cannot_write_to_tables_directly(connection: Connection, role: str) -> None:
    assert connection.execute(WRITES, (role,)).fetchall() == []


@pytest.mark.parametrize("role", ROLES)
def test_roles_call_modifying_functions_only_if_security_definer(connection: Connection, role: str) -> None:
    assert connection.execute(CHANGES_SOMETHING, (role,)).fetchall() == []


def test_enqueue_role_can_only_enqueue_and_collect_events(connection: Connection) -> None:
    assert lent(connection, "rolecall_enqueue") == {"collect_events", "collected_events", "enqueue", "enqueue_many"}


def test_worker_role_can_only_finish_tasks_that_it_has_claimed(connection: Connection) -> None:
    assert (
        lent(connection, "rolecall_work") & {"complete_task", "fail_task", "cancel", "delete_task", "pause_role"}
        == set()
    )


def test_worker_role_cannot_create_api_keys_people_or_sessions(connection: Connection) -> None:
    assert lent(connection, "rolecall_work") & {"create_api_key", "add_person", "set_password", "open_session"} == set()


def test_operator_role_cannot_claim(connection: Connection) -> None:
    assert lent(connection, "rolecall_operate") & {"claim", "start", "renew", "finish", "run_procedure"} == set()


def test_read_role_cannot_change_anything(connection: Connection) -> None:
    changing = "select proname from pg_proc where proname = any (%s) and provolatile = 'v'"

    assert connection.execute(changing, (list(lent(connection, "rolecall_read")),)).fetchall() == [("find_tasks",)]


def test_login_without_a_role_cannot_call_functions(database: str) -> None:
    with login(database) as dsn, connect(dsn, "test") as stranger, pytest.raises(psycopg.errors.InsufficientPrivilege):
        stranger.execute("select rolecall.clock()")


@pytest.mark.parametrize("table", ["tasks", "api_keys", "audit_log"])
def test_enqueue_role_cannot_read_tables(enqueuer: Connection, table: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        enqueuer.execute(f"select from rolecall.{table}".encode())


@pytest.mark.parametrize(
    "table", ["api_keys", "people", "sessions", "login_attempts", "task_tokens", "requests", "audit_log"]
)
@pytest.mark.parametrize("role", ["rolecall_enqueue", "rolecall_read", "rolecall_work"])
def test_only_the_operator_role_can_read_secrets(connection: Connection, role: str, table: str) -> None:
    may = "select has_table_privilege(%s, %s, 'select')"

    assert connection.execute(may, (role, f"rolecall.{table}")).fetchone() == (False,)


def test_enqueue_role_cannot_merge_with_its_own_function(
    enqueuer: Connection, database: str, connection: Connection
) -> None:
    connection.execute(f"grant create on database {connection.info.dbname} to {enqueuer.info.user}".encode())
    enqueuer.execute(OWN_MERGER)
    with pytest.raises(psycopg.DatabaseError, match="there is no function own.merged"):
        enqueuer.execute("select * from rolecall.enqueue_many(%s)", (MERGED_BY_OWN,))


def test_worker_role_cannot_declare_its_own_procedure(worker: Connection, connection: Connection) -> None:
    connection.execute(f"grant create on database {connection.info.dbname} to {worker.info.user}".encode())
    worker.execute(OWN_PROCEDURE)

    with pytest.raises(psycopg.DatabaseError, match="there is no procedure own.run"):
        worker.execute(
            "select rolecall.declare('[]', %s)",
            ('[{"name": "mine", "role": "default", "procedure": "own.run"}]',),
        )


def test_procedure_runs_with_the_search_path_of_its_owner(worker: Connection, connection: Connection) -> None:
    connection.execute(FIND_OTHERS)
    connection.execute(f"alter database {connection.info.dbname} set search_path = helpers".encode())
    connection.execute("select rolecall.declare_procedure('told', 'helpers.run', 'default')")
    worker.execute("set search_path = pg_temp; create temp table told (who text)")
    worker.execute("select * from rolecall.enqueue_many(%s)", (SQL_TASK,))
    [(worker_id,)] = worker.execute("select rolecall.register_worker('w', '{}', array['told'], 1, 'h', 1, '1')")
    [(task_id, fence)] = worker.execute(
        "select id, fence from rolecall.claim(%s::bigint, '{}', array['told'], 1)", (worker_id,)
    )

    [(lost, error)] = worker.execute(
        "select * from rolecall.run_procedure(%s::bigint, %s::bigint, %s::int)", (worker_id, task_id, fence)
    )

    assert (lost, error) == (None, None)
    assert connection.execute("select count(*) from helpers.told").fetchone() == (1,)


def test_replaced_functions_are_granted_to_the_roles_again(connection: Connection, worker: Connection) -> None:
    connection.execute("update rolecall.schema_files set checksum = 'of another text'")

    assert migrate(connection)
    worker.execute("select rolecall.prune()")


def test_database_without_the_roles_is_migrated_without_them(postgres_server: TestServer) -> None:
    with clone(postgres_server, "template1") as dsn, connect(dsn, "test") as conn:
        migrate(conn)

        assert conn.execute("select from pg_proc where prosecdef").fetchall() == []


def test_owner_without_createrole_grants_to_existing_roles(postgres_server: TestServer) -> None:
    with (
        clone(postgres_server, "template1") as admin,
        login(admin) as dsn,
        connect(admin, "test") as conn,
        connect(dsn, "test") as owner,
    ):
        conn.execute(f"alter database {conn.info.dbname} owner to {owner.info.user}".encode())
        migrate(owner)
        grant_roles(owner)
        with login(admin, "rolecall_read") as reading, connect(reading, "test") as reader:
            assert reader.execute("select from rolecall.all_tasks").fetchall() == []
        conn.execute(f"reassign owned by {owner.info.user} to current_user".encode())


def test_granting_roles_requires_the_owner_of_the_schema(reader: Connection) -> None:
    with pytest.raises(ConfigError, match="must run as the owner of schema rolecall"):
        grant_roles(reader)


def test_roles_script_runs_in_psql(connection: Connection) -> None:
    connection.execute(roles_text().encode())


@pytest.mark.parametrize("role", ROLES)
def test_functions_without_a_search_path_are_granted_only_if_inlined(connection: Connection, role: str) -> None:
    granted = connection.execute(WITHOUT_A_PATH, (role,)).fetchall()

    assert granted == [
        ("clock", "sql", False),
        ("is_active", "sql", False),
        ("shown_state", "sql", False),
        ("status_of", "sql", False),
        ("tasks_of_chain", "sql", False),
    ]


def test_inlined_functions_reference_no_type_that_a_caller_could_shadow(connection: Connection) -> None:
    bodies = connection.execute(
        "select prosrc from pg_proc where proname in ('clock', 'is_active', 'status_of', 'tasks_of_chain')"
    ).fetchall()

    assert [body for (body,) in bodies if re.search(r"::(?!pg_catalog\.)|\bcast\b", body)] == []


@pytest.mark.parametrize("role", ROLES)
def test_roles_can_execute_the_functions_called_by_granted_functions(connection: Connection, role: str) -> None:
    """This concerns functions that run with the rights of their caller."""
    engine = Engine.read(ROOT)
    granted = dict(connection.execute(GRANTED, (role,)).fetchall())
    missing = {
        (made.name, called.name)
        for made in engine.objects
        if made.is_public and granted.get(made.name) is False
        for called in engine.objects_called_by(made)
        if called.kind == "function" and called.name not in granted
    }

    assert missing == set()


@pytest.mark.parametrize("role", ROLES)
def test_logins_cannot_set_the_retention_of_the_audit_log(database: str, role: str) -> None:
    with (
        login(database, role) as dsn,
        connect(dsn, "test") as conn,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        conn.execute("select rolecall.keep_audit(86400)")
