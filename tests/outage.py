"""The database away, or read-only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, LiteralString

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

CLIENTS = "select pg_terminate_backend(pid, 30000) from pg_stat_activity where datname = %s and application_name ~ '^rolecall:'"
OURS = """
    select pg_terminate_backend(pid, 30000) from pg_stat_activity
    where datname = %s and application_name in ('rolecall:web', 'rolecall:web reads', 'rolecall:live')
"""


@contextmanager
def altered(database: str, change: LiteralString, back: LiteralString) -> Iterator[psycopg.Connection[Any]]:
    """Alter the database while the block runs; yield a session that is not on it."""
    name = str(conninfo_to_dict(database)["dbname"])
    alter = sql.SQL("alter database {} {}").format
    with psycopg.connect(make_conninfo(database, dbname="postgres"), autocommit=True) as outside:
        outside.execute(alter(sql.Identifier(name), sql.SQL(change)))
        try:
            yield outside
        finally:
            outside.execute(alter(sql.Identifier(name), sql.SQL(back)))


@contextmanager
def outage(database: str, ended: LiteralString = OURS) -> Iterator[None]:
    """Take the database away while the block runs; `ended` is the query that ends sessions on it."""
    with altered(database, "allow_connections false", "allow_connections true") as outside:
        outside.execute(ended, [conninfo_to_dict(database)["dbname"]])
        yield


@contextmanager
def read_only(database: str) -> Iterator[None]:
    """Let the database accept no writes in new sessions while the block runs, and end Rolecall's sessions around it."""
    name = conninfo_to_dict(database)["dbname"]
    on, off = "set default_transaction_read_only = on", "reset default_transaction_read_only"
    with psycopg.connect(make_conninfo(database, dbname="postgres"), autocommit=True) as outside:
        try:
            with altered(database, on, off):
                outside.execute(CLIENTS, [name])
                yield
        finally:
            outside.execute(CLIENTS, [name])
