"""A reused database is like a new one for the next test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from rolecall.testing import Clock, TestServer, clone
from tests.sql.engine import START, WORK, Engine
from tests.sql.reused import Reused

Connection = psycopg.Connection[Any]
TABLES = """
    select oid::regclass::text from pg_class
    where relkind = 'r' and relnamespace >= 16384 and relpersistence <> 't'
"""
SEQUENCES = "select schemaname, sequencename, start_value, last_value from pg_sequences order by 1, 2"
DEFINITIONS = (
    "create table public.added ()",
    "drop function rolecall.prune()",
    "alter table rolecall.tasks drop constraint tasks_pkey cascade",
    "alter table rolecall.audit_log disable trigger all",
    "revoke select on rolecall.tasks from public; grant select on rolecall.tasks to public",
    "create schema added",
    "do $$ begin execute format('alter database %I set work_mem = 65', current_database()); end $$",
    "do $$ begin execute format('revoke connect on database %I from public', current_database()); end $$",
)


@pytest.fixture
def reused(postgres_server: TestServer, database_template: str) -> Iterator[Reused]:
    reused = Reused(postgres_server, database_template)
    yield reused
    reused.close()


def contents(dsn: str) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of all tables, and the sequences, of a database."""
    with psycopg.connect(dsn) as connection:
        names = [name for (name,) in connection.execute(TABLES)]
        rows = {
            name: connection.execute(f"select row::text from only {name} as row".encode()).fetchall() for name in names
        }
        return rows | {"sequences": connection.execute(SEQUENCES).fetchall()}


def work(connection: Connection, dsn: str) -> None:
    """Write to many tables."""
    clock = Clock(dsn)
    clock.follow(connection)
    clock.set(START)
    engine = Engine(connection, clock, dsn)
    engine.declare(WORK)
    engine.put_schedule()
    engine.enqueue_many([{"role": "work", "key": "a"}, {"role": "work", "dedupe_key": "b"}])
    first, second = engine.claim(2)
    engine.complete(first)
    engine.fail(second)
    clock.restart()


def test_contents_are_those_of_a_new_database(
    reused: Reused, postgres_server: TestServer, database_template: str
) -> None:
    with clone(postgres_server, database_template) as new, reused.borrow() as first:
        pristine = contents(new)
        work(first.connection, first.dsn)
        initial = [name for name, rows in pristine.items() if rows and name != "sequences"]
        assert initial
        for name in initial:
            first.connection.execute(f"delete from {name}".encode())
        assert contents(first.dsn) != pristine

    with reused.borrow() as second:
        assert second.dsn == first.dsn
        assert contents(second.dsn) == pristine


@pytest.mark.parametrize("change", DEFINITIONS)
def test_database_with_changed_definitions_is_replaced(reused: Reused, change: str) -> None:
    with reused.borrow() as first:
        first.connection.execute(change.encode())

    with reused.borrow() as second:
        assert second.dsn != first.dsn


def test_session_has_no_settings_locks_and_notifications_of_the_last_test(reused: Reused) -> None:
    with reused.borrow() as first:
        first.connection.execute("set rolecall.fake_now = '2026-01-01 00:00:00+00'")
        first.connection.execute("select pg_advisory_lock(1)")
        first.connection.execute("listen heard")
        first.connection.execute("notify heard")

    with reused.borrow() as second:
        assert second.connection is first.connection
        assert second.connection.execute("select current_setting('rolecall.fake_now')").fetchall() == [("",)]
        locks = "select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()"
        assert second.connection.execute(locks).fetchall() == [(0,)]
        second.connection.execute("notify heard")
        assert list(second.connection.notifies(timeout=0)) == []


@pytest.mark.parametrize("leave", ["begin", "close"])
def test_closed_or_open_transaction_is_followed_by_a_new_session(reused: Reused, leave: str) -> None:
    with reused.borrow() as first:
        used = first.connection
        used.execute("begin") if leave == "begin" else used.close()

    with reused.borrow() as second:
        assert second.dsn == first.dsn
        assert second.connection is not used
        assert second.connection.execute("select 1").fetchall() == [(1,)]


def test_other_sessions_of_the_last_test_are_terminated(reused: Reused) -> None:
    with reused.borrow() as first:
        left_open = psycopg.connect(first.dsn)
        left_open.execute("lock table rolecall.tasks")

    with pytest.raises(psycopg.OperationalError):
        left_open.execute("select 1")
    left_open.close()
