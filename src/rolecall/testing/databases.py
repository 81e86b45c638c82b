"""Throw-away databases: one migrated template, and a clone of it for every test (some 30 ms each)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from uuid import uuid4

from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Composed, Identifier

from rolecall.db.connect import connect
from rolecall.db.migrator import ROLECALL, Migrations, migrate

__all__ = ["TestServer", "clone", "template"]


class TestServer:
    """A Postgres server on which the tests may make and drop databases."""

    __test__ = False

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn

    def dsn(self, database: str) -> str:
        """Return the connection string of one of its databases."""
        return make_conninfo(self._dsn, dbname=database)

    def create(self, database: str, *, template: str = "template1") -> None:
        """Make a database, as a copy of another that nobody is connected to."""
        self._run(SQL("create database {} template {}").format(Identifier(database), Identifier(template)))

    def drop(self, database: str) -> None:
        """Drop a database, whoever is still connected to it."""
        self._run(SQL("drop database if exists {} with (force)").format(Identifier(database)))

    def _run(self, command: Composed) -> None:
        with connect(self._dsn, "testing") as connection:
            connection.execute(command)


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


@contextmanager
def _database(server: TestServer, purpose: str, template: str) -> Iterator[str]:
    name = f"rolecall_{purpose}_{uuid4().hex[:12]}"
    server.create(name, template=template)
    try:
        yield name
    finally:
        server.drop(name)
