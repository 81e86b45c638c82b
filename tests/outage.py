"""The database away: nobody gets into it, and who was in is out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

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
