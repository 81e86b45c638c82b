"""Entries of the audit log cannot be changed by any login until they expire."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg import errors

from rolecall.testing import Clock

Connection = psycopg.Connection[Any]
RECORD = "select rolecall.record_audit('ada', 'cli', null, 'tasks.cancel', '{}', null)"


@pytest.fixture
def log(connection: Connection) -> Connection:
    """An audit log with one entry."""
    connection.execute(RECORD)
    return connection


def rows(log: Connection) -> list[tuple[str, str]]:
    return log.execute("select actor, action from rolecall.audit_log order by id").fetchall()


@pytest.mark.parametrize(
    "change",
    [
        "update rolecall.audit_log set actor = 'eve'",
        "update rolecall.audit_log set actor = 'eve' where false",
        "delete from rolecall.audit_log",
        "truncate rolecall.audit_log",
        "insert into rolecall.audit_log overriding system value select * from rolecall.audit_log on conflict (id) do update set actor = 'eve'",
    ],
)
@pytest.mark.parametrize("age", [0, 399])
def test_recent_entry_can_be_neither_changed_nor_deleted(log: Connection, clock: Clock, change: str, age: int) -> None:
    clock.advance(days=age)

    with pytest.raises(errors.InsufficientPrivilege, match="the audit log cannot be changed"):
        log.execute(change)

    assert rows(log) == [("ada", "tasks.cancel")]


def test_expired_entry_can_be_deleted_but_not_changed(log: Connection, clock: Clock) -> None:
    clock.advance(days=401)
    log.execute(RECORD.replace("ada", "bob"))

    for change in ("update rolecall.audit_log set actor = 'eve'", "truncate rolecall.audit_log"):
        with pytest.raises(errors.InsufficientPrivilege):
            log.execute(change)
    log.execute("delete from rolecall.audit_log where at < rolecall.clock() - interval '400 days'")

    assert rows(log) == [("bob", "tasks.cancel")]


def test_entries_expire_after_the_configured_retention(log: Connection, clock: Clock) -> None:
    log.execute("select rolecall.keep_audit(86400)")
    clock.advance(days=2)

    log.execute("delete from rolecall.audit_log")

    assert rows(log) == []


def test_entries_can_be_added(log: Connection) -> None:
    log.execute(RECORD)

    assert len(rows(log)) == 2
