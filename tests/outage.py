"""The database away, or read-only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

CLIENTS = "select pg_terminate_backend(pid, 30000) from pg_stat_activity where datname = %s and application_name ~ '^rolecall:'"
OURS = """
    select pg_terminate_backend(pid, 30000) from pg_stat_activity
    where datname = %s and application_name in ('rolecall:web', 'rolecall:web reads', 'rolecall:live')
"""


@contextmanager
def outage(database: str) -> Iterator[None]:
    """Take the database away from our servers while the block runs; the test's own sessions stay."""
    name = str(conninfo_to_dict(database)["dbname"])
    allow = sql.SQL("alter database {} allow_connections {}").format
    with psycopg.connect(make_conninfo(database, dbname="postgres"), autocommit=True) as outside:
        outside.execute(allow(sql.Identifier(name), sql.SQL("false")))
        try:
            outside.execute(OURS, [name])
            yield
        finally:
            outside.execute(allow(sql.Identifier(name), sql.SQL("true")))


@contextmanager
def read_only(database: str) -> Iterator[None]:
    """Let the database accept no writes in new sessions while the block runs, and end Rolecall's sessions around it."""
    name = str(conninfo_to_dict(database)["dbname"])
    alter = sql.SQL("alter database {} {}").format
    with psycopg.connect(make_conninfo(database, dbname="postgres"), autocommit=True) as outside:
        outside.execute(alter(sql.Identifier(name), sql.SQL("set default_transaction_read_only = on")))
        try:
            outside.execute(CLIENTS, [name])
            yield
        finally:
            outside.execute(alter(sql.Identifier(name), sql.SQL("reset default_transaction_read_only")))
            outside.execute(CLIENTS, [name])
