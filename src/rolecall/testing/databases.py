"""Throw-away databases: one migrated template, and a clone of it for every test (some 30 ms each)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import sleep
from typing import Any
from uuid import uuid4

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from rolecall.db.connect import connect
from rolecall.db.migrator import ROLECALL, Migrations, migrate

__all__ = ["TestServer", "clone", "template"]

END_SESSIONS = "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s"
MOST_LOOKS = 200
BETWEEN_LOOKS = 0.001


class TestServer:
    """A Postgres server on which the tests may make and drop databases."""

    __test__ = False

    def __init__(self, dsn: str, *, in_memory: bool = False) -> None:
        self._dsn = dsn
        # On a disk, files that are copied take longer than pages that are written anew.
        self._strategy = SQL("file_copy" if in_memory else "wal_log")

    def dsn(self, database: str) -> str:
        """Return the connection string of one of its databases."""
        return make_conninfo(self._dsn, dbname=database)

    def create(self, database: str, *, template: str = "template1") -> None:
        """Make a database, as a copy of another that nobody is connected to."""
        with connect(self._dsn, "testing") as connection:
            names = Identifier(database), Identifier(template)
            connection.execute(SQL("create database {} template {} strategy {}").format(*names, self._strategy))

    def drop(self, database: str) -> None:
        """Drop a database, whoever is still connected to it."""
        with connect(self._dsn, "testing") as connection:
            _end_sessions(connection, database)
            connection.execute(SQL("drop database if exists {} with (force)").format(Identifier(database)))


@contextmanager
def template(server: TestServer, migrations: Iterable[Migrations] = (ROLECALL,)) -> Iterator[str]:
    """Make a migrated database to clone from and yield its name; drop it at the end."""
    with _database(server, "template", "template1") as name:
        with connect(server.dsn(name), "testing") as connection:
            for package in migrations:
                migrate(connection, package)
        yield name


@contextmanager
def clone(server: TestServer, template: str) -> Iterator[str]:
    """Make a database like the template and yield its connection string; drop it at the end."""
    with _database(server, "test", template) as name:
        yield server.dsn(name)


def _end_sessions(connection: psycopg.Connection[Any], database: str) -> None:
    # The drop ends them too, but then looks only every 100 ms whether they have gone.
    for _ in range(MOST_LOOKS):
        if not connection.execute(END_SESSIONS, (database,)).rowcount:
            return
        sleep(BETWEEN_LOOKS)


@contextmanager
def _database(server: TestServer, purpose: str, template: str) -> Iterator[str]:
    name = f"rolecall_{purpose}_{uuid4().hex[:12]}"
    server.create(name, template=template)
    try:
        yield name
    finally:
        server.drop(name)
