"""Reads that take too long while the database answers others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psycopg
import pytest
from psycopg import sql

from rolecall.web import application, state

# Seconds instead of five. A read on a busy machine takes less.
LONGEST_READ = 2.0
SIGNATURE = """
    select pg_get_function_arguments(oid), pg_get_function_result(oid) from pg_proc
    where pronamespace = 'rolecall'::regnamespace and proname = %s
"""
SLOW = "create or replace function {} ({}) returns {} language plpgsql as 'begin perform pg_sleep(60); end'"


def limit_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the limit of a read for servers that are built from now on."""
    monkeypatch.setattr(state, "LONGEST_READ", LONGEST_READ)
    monkeypatch.setattr(application, "LONGEST_READ", LONGEST_READ)


def slow_down(database: str, name: str) -> None:
    """Make an SQL function take a minute."""
    with psycopg.connect(database, autocommit=True) as connection:
        [signature] = connection.execute(SIGNATURE, [name]).fetchall()
        parts = (sql.Identifier("rolecall", name), *(sql.SQL(each) for each in signature))
        connection.execute(sql.SQL(SLOW).format(*parts))


@contextmanager
def locked(database: str, table: str) -> Iterator[None]:
    """Lock a table, so that each read of it waits."""
    with psycopg.connect(database) as connection:
        connection.execute(sql.SQL("lock table {}").format(sql.Identifier("rolecall", table)))
        yield


@contextmanager
def slow(database: str, what: str) -> Iterator[None]:
    """Make reads slow: those of a function, `name()`, or those of a table."""
    with ExitStack() as stack:
        if what.endswith("()"):
            slow_down(database, what.removesuffix("()"))
        else:
            stack.enter_context(locked(database, what))
        yield
