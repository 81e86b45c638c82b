"""A database that does not answer workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from psycopg.conninfo import make_conninfo

from rolecall.db.connect import connect
from tests.worker.bench import Bench

TERMINATE = """
select count(pg_terminate_backend(pid)) from pg_stat_activity
where datname = current_database() and application_name like 'rolecall:worker:%%'
"""


@contextmanager
def silence(bench: Bench) -> Iterator[None]:
    """Make the database answer no worker during the block."""
    name = bench.connection.info.dbname
    with connect(make_conninfo(bench.dsn, dbname="postgres"), "doorman") as doorman:
        doorman.execute(f'alter database "{name}" allow_connections false'.encode())
        bench.ask(TERMINATE)
        try:
            yield
        finally:
            doorman.execute(f'alter database "{name}" allow_connections true'.encode())
