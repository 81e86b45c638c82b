"""Partitions are created and dropped while the tables are in use: no call fails or waits for long."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor

import psycopg
import pytest

from tests.sql.conftest import Session
from tests.sql.engine import Engine
from tests.sql.repeating import MAKE_PARTITIONS, repeat_until_done

DEADLINE = 20.0
DROP = "select sum(number)::int from rolecall.prune() where what in ('task_partitions', 'event_partitions')"
TABLES = ("finished_tasks", "task_events")
# The session that creates or drops partitions must give up long before the server detects a deadlock.
LET_CIRCLES_STAND = "set deadlock_timeout = '30s'"
IS_WAITING = "select count(*) > 0 from pg_locks where pid = %s and not granted"


@pytest.fixture
def keeper(engine: Engine, session: Session) -> Engine:
    """A session that creates or drops partitions; those of twenty days exist and have expired."""
    engine.rows("select rolecall.make_partitions(20)")
    engine.clock.advance(days=60)
    keeper = session()
    keeper.rows("set statement_timeout = '20s'")
    keeper.rows(LET_CIRCLES_STAND)
    return keeper


def read(engine: Engine, table: str) -> list[tuple[object, ...]]:
    return engine.rows(f"select * from rolecall.{table}")


def begin_to_read(engine: Engine, table: str) -> None:
    """Lock the table as a parsed but unplanned statement does: its partitions are not locked yet."""
    engine.rows("begin")
    engine.rows(f"lock table only rolecall.{table} in access share mode")


def until_waiting(looker: Engine, waiter: Engine, answer: Future[int]) -> None:
    """Return while the session waits for a table; a session that gives up soon may already have done so."""
    deadline = time.monotonic() + DEADLINE
    while not (looker.value(IS_WAITING, waiter.connection.info.backend_pid) or answer.done()):
        assert time.monotonic() < deadline, "the session does not wait"
        time.sleep(0.001)


@pytest.mark.parametrize("call", [MAKE_PARTITIONS, DROP])
@pytest.mark.parametrize(("first", "then"), [(one, other) for one in TABLES for other in TABLES])
def test_reader_is_not_blocked_by_waiting_maintenance(
    engine: Engine, session: Session, keeper: Engine, call: str, first: str, then: str
) -> None:
    reader = session()
    reader.rows(LET_CIRCLES_STAND)
    begin_to_read(reader, first)
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(repeat_until_done, keeper, call)
        until_waiting(engine, keeper, answer)

        assert read(reader, then) == []

        reader.rows("commit")
        assert answer.result(timeout=DEADLINE) in (0, 16, 21, 42)


def test_partition_creation_waits_for_a_short_reader(engine: Engine, session: Session, keeper: Engine) -> None:
    reader = session()
    begin_to_read(reader, "finished_tasks")
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(repeat_until_done, keeper, MAKE_PARTITIONS)
        until_waiting(engine, keeper, answer)
        reader.rows("commit")

        assert answer.result(timeout=DEADLINE) == 16


@pytest.mark.parametrize("call", [MAKE_PARTITIONS, DROP])
def test_tasks_can_be_finished_while_a_long_reader_blocks_maintenance(
    engine: Engine, session: Session, keeper: Engine, call: str
) -> None:
    engine.enqueue()
    claim = engine.claim_one()
    reader = session()
    reader.rows("begin")
    read(reader, "finished_tasks")
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(keeper.value, call)
        until_waiting(engine, keeper, answer)

        assert engine.complete(claim) is None

        assert answer.exception(timeout=DEADLINE) is None or call == MAKE_PARTITIONS
        reader.rows("rollback")


def test_partition_creation_fails_if_a_reader_stays(session: Session, keeper: Engine) -> None:
    reader = session()
    reader.rows("begin")
    read(reader, "task_events")

    with pytest.raises(psycopg.errors.LockNotAvailable):
        keeper.value(MAKE_PARTITIONS)

    reader.rows("rollback")
    assert keeper.value(MAKE_PARTITIONS) == 16


def test_days_in_use_are_dropped_later(session: Session, keeper: Engine) -> None:
    reader = session()
    reader.rows("begin")
    read(reader, "task_events")

    assert keeper.value(DROP) == 21

    reader.rows("rollback")
    assert keeper.value(DROP) == 21
