"""A worker's id is bound to the login that registered it: no other login can act for it."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from rolecall.db.connect import connect
from rolecall.db.migrator import grant_roles
from tests.db.shop import Connection
from tests.logins import login

REGISTER = "select rolecall.register_worker('w', '{}', '{add}', 9, 'h', 1, '1')"
POOL = """\
select rolecall.declare('[{"name": "default"}]', '[{"name": "add", "role": "default"}]');
select rolecall.enqueue('default', '{}', p_handler => 'add') from generate_series(1, 3);
"""
# Functions that take a worker's id and only read.
READ_ONLY = {"is_work_left", "next_due_for"}
BY_WORKER = """\
select routine.proname, array(
    select format('%s::%s', case format_type(type, null)
        when 'boolean' then 'true'
        when 'jsonb' then quote_literal('[{"id": 1, "fence": 1, "outcome": "completed"}]')
        when 'bigint[]' then quote_literal('{1}')
        when 'integer[]' then quote_literal('{1}')
        when 'text[]' then quote_literal('{add}')
        when 'text' then quote_literal('x')
        else '1'
    end, format_type(type, null))
    from unnest(routine.proargtypes[1:]) as type
)
from pg_proc as routine
where pronamespace = 'rolecall'::regnamespace and prosecdef and proargnames[1] = 'p_worker_id'
    and has_function_privilege('rolecall_work', oid, 'execute')
order by proname
"""
STATE = "select id, state, fence, worker_id, started_at, lease_until from rolecall.tasks order by id"


@pytest.fixture(autouse=True)
def pool(connection: Connection) -> None:
    grant_roles(connection)
    connection.execute(POOL)


@pytest.fixture
def crawler(database: str) -> Iterator[Connection]:
    with login(database, "rolecall_work") as dsn, connect(dsn, "test") as conn:
        yield conn


@pytest.fixture
def mailer(database: str) -> Iterator[Connection]:
    with login(database, "rolecall_work") as dsn, connect(dsn, "test") as conn:
        yield conn


def register(conn: Connection) -> int:
    [(worker_id,)] = conn.execute(REGISTER)
    return int(worker_id)


def claim(conn: Connection, worker_id: int) -> list[tuple[int, int]]:
    return conn.execute("select id, fence from rolecall.claim(%s, '{}', '{add}', 9)", (worker_id,)).fetchall()


def test_functions_do_not_act_for_workers_of_another_login(
    connection: Connection, crawler: Connection, mailer: Connection
) -> None:
    worker_id = register(crawler)
    claim(crawler, worker_id)
    before = connection.execute(STATE).fetchall()
    accepted = set()
    for name, arguments in connection.execute(BY_WORKER).fetchall():
        try:
            mailer.execute(f"select * from rolecall.{name}({', '.join([str(worker_id), *arguments])})".encode())
            accepted.add(name)
        except psycopg.errors.InsufficientPrivilege as error:
            assert "was not registered by login" in str(error)

    assert accepted == READ_ONLY
    assert connection.execute(STATE).fetchall() == before


def test_login_can_act_for_its_own_workers(connection: Connection, crawler: Connection) -> None:
    worker_id = register(crawler)
    [(task_id, fence), *_] = claim(crawler, worker_id)
    report = f'[{{"id": {task_id}, "fence": {fence}, "outcome": "completed"}}]'

    assert crawler.execute("select rolecall.finish(%s, %s)", (worker_id, report)).fetchall() == []
    assert crawler.execute("select rolecall.deregister_worker(%s)", (worker_id,)).fetchone() == (2,)


def test_owner_can_act_for_every_worker(connection: Connection, crawler: Connection) -> None:
    worker_id = register(crawler)
    claim(crawler, worker_id)

    assert connection.execute("select rolecall.deregister_worker(%s)", (worker_id,)).fetchone() == (3,)


def test_login_cannot_declare_workers_of_another_login_dead(
    connection: Connection, crawler: Connection, mailer: Connection
) -> None:
    worker_id = register(crawler)
    claim(crawler, worker_id)

    assert mailer.execute("select * from rolecall.rescue_workers(%s)", ([worker_id],)).fetchall() == []
    assert connection.execute("select stopped_at from rolecall.workers").fetchall() == [(None,)]
    assert len(crawler.execute("select * from rolecall.rescue_workers(%s)", ([worker_id],)).fetchall()) == 3


def test_operator_can_declare_any_worker_dead(database: str, crawler: Connection) -> None:
    worker_id = register(crawler)
    claim(crawler, worker_id)
    with login(database, "rolecall_operate") as dsn, connect(dsn, "test") as operator:
        rescued = operator.execute("select * from rolecall.rescue_workers(%s)", ([worker_id],)).fetchall()

    assert len(rescued) == 3
