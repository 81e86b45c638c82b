"""The time before which no finish can be committed any more, with transactions of other logins and prepared ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from uuid import uuid4

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from rolecall.testing import Clock
from tests.sql.engine import Connection, Engine

SETTLED = "select rolecall.settled_until('0 s') > '-infinity'"
COUNTED = "select coalesce(sum(number), 0) from rolecall.finished_counts"
BUSY = """
create procedure keep_busy() language plpgsql as $$
begin
    while exists (select from go_on) loop
        lock table rolecall.tasks in row share mode;
        perform pg_sleep(0.03);
        commit;
    end loop;
end $$
"""
WAITING = "select exists (select from pg_stat_activity where pid = %s and wait_event_type = 'Lock')"


@pytest.fixture
def ordinary(live_engine: Engine) -> Iterator[Engine]:
    """A session of a role that can use the engine but cannot see sessions of other roles."""
    name = Identifier(f"ordinary_{uuid4().hex[:12]}")
    live_engine.connection.execute(SQL("create role {}").format(name))
    for right in ("usage on schema", "all on all tables in schema", "all on all sequences in schema"):
        live_engine.connection.execute(SQL("grant {} rolecall to {}").format(SQL(right), name))
    try:
        with session(live_engine) as ordinary:
            ordinary.connection.execute(SQL("set role {}").format(name))
            yield ordinary
    finally:
        live_engine.connection.execute(SQL("drop owned by {0}").format(name))
        live_engine.connection.execute(SQL("drop role {}").format(name))


@contextmanager
def session(engine: Engine) -> Iterator[Engine]:
    with psycopg.connect(engine.database, autocommit=True) as connection:
        yield Engine(connection, Clock(engine.database), engine.database)


@contextmanager
def open_transaction(engine: Engine) -> Iterator[Engine]:
    """A transaction of the tests' superuser, which is hidden from an ordinary role."""
    with session(engine) as other, other.connection.transaction():
        yield other


def test_reading_or_unrelated_transactions_of_another_login_delay_nothing(
    live_engine: Engine, ordinary: Engine
) -> None:
    with open_transaction(live_engine) as stranger:
        stranger.rows("create temporary table elsewhere as select 1")
        stranger.rows("select count(*) from rolecall.tasks")

        assert ordinary.value(SETTLED)


def test_uncommitted_finish_by_another_login_is_awaited_and_then_counted(live_engine: Engine, ordinary: Engine) -> None:
    live_engine.enqueue()
    claim = live_engine.claim_one()
    with open_transaction(live_engine) as stranger:
        stranger.complete(claim)
        assert not ordinary.value(SETTLED)
        ordinary.value("select rolecall.roll_up_counts('0 s')")
        assert ordinary.value(COUNTED) == 0

    ordinary.value("select rolecall.roll_up_counts('0 s')")
    assert ordinary.value(COUNTED) == 1


def test_call_of_another_role_that_waits_before_writing_is_awaited(live_engine: Engine, ordinary: Engine) -> None:
    task = live_engine.enqueue()
    with session(live_engine) as stranger:
        with open_transaction(live_engine) as holder:
            holder.rows("select from rolecall.tasks where id = %s for update", task)
            cancelling = Thread(target=stranger.cancel, args=(task,))
            cancelling.start()
            while not live_engine.value(WAITING, stranger.connection.info.backend_pid):
                continue

            assert not ordinary.value(SETTLED)
        cancelling.join()

    assert ordinary.value(SETTLED)


def test_consecutive_short_transactions_of_another_role_delay_nothing(live_engine: Engine, ordinary: Engine) -> None:
    live_engine.rows("create table go_on ()")
    live_engine.rows("insert into go_on default values")
    live_engine.rows(BUSY)
    with session(live_engine) as stranger:
        busy = Thread(target=stranger.rows, args=("call keep_busy()",))
        busy.start()
        settled = [ordinary.value(SETTLED) for _ in range(20)]
        live_engine.rows("truncate go_on")
        busy.join()

    assert sum(settled) > len(settled) / 2


def test_unrelated_transaction_of_the_same_login_delays_nothing(live_engine: Engine) -> None:
    with open_transaction(live_engine) as other:
        other.rows("create temporary table elsewhere as select 1")

        assert live_engine.value("select rolecall.settled_until('0 s') > %s", other.value("select clock_timestamp()"))


@pytest.fixture
def preparing(live_engine: Engine) -> Iterator[Connection]:
    """A transaction that will be prepared and finally rolled back."""
    if live_engine.value("select current_setting('max_prepared_transactions')") == "0":
        pytest.skip("the server allows no prepared transactions")
    with psycopg.connect(live_engine.database) as connection:
        connection.tpc_begin("the test's")
        yield connection
        connection.tpc_rollback()


def test_prepared_transaction_without_finished_tasks_delays_nothing(live_engine: Engine, preparing: Connection) -> None:
    preparing.execute("create table elsewhere ()")
    preparing.tpc_prepare()

    assert live_engine.value(SETTLED)


def test_prepared_transaction_with_a_finished_task_is_awaited(live_engine: Engine, preparing: Connection) -> None:
    task = live_engine.enqueue()
    preparing.execute("select rolecall.complete_task(%s)", (task,))
    preparing.tpc_prepare()

    assert not live_engine.value(SETTLED)
