"""Temporary databases: a migrated template and a clone of it for each test (30 ms each); or an existing database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import sleep
from typing import Any
from urllib.parse import quote, unquote, urlencode
from uuid import uuid4
from weakref import finalize

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.sql import SQL, Identifier

from rolecall.app import App
from rolecall.config.dsn import without_driver
from rolecall.db.connect import connect
from rolecall.db.migrations import ROLECALL, Migrations
from rolecall.db.migrator import migrate
from rolecall.model.errors import ConfigError

END_SESSIONS = "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s"
MOST_LOOKS = 200
BETWEEN_LOOKS = 0.001


class TestServer:
    """A Postgres server on which tests can create and drop databases."""

    __test__ = False

    def __init__(self, dsn: str, *, in_memory: bool = False) -> None:
        self._dsn = dsn
        # On a disk, copying files is slower than writing the pages to the WAL.
        self._strategy = SQL("file_copy" if in_memory else "wal_log")
        self._connection: psycopg.Connection[Any] | None = None

    def dsn(self, database: str) -> str:
        """Return the connection string of one of the server's databases."""
        return make_conninfo(self._dsn, dbname=database)

    def create(self, database: str, *, template: str = "template1") -> None:
        """Create a database, as a copy of a template without connections."""
        names = Identifier(database), Identifier(template)
        statement = SQL("create database {} template {} strategy {}").format(*names, self._strategy)
        self._connected().execute(statement)

    def drop(self, database: str) -> None:
        """Drop a database and terminate its connections."""
        connection = self._connected()
        _end_sessions(connection, database)
        connection.execute(SQL("drop database if exists {} with (force)").format(Identifier(database)))

    def warm_up(self, database: str) -> None:
        """Connect once to a complete template: a clone in memory then contains the server's file of cached catalogs.

        Without the file, the first connection to each clone takes twice as long.
        """
        connect(self.dsn(database), "testing").close()

    def _connected(self) -> psycopg.Connection[Any]:
        """Return the connection for all databases of this process. Opens it again if the server has ended it."""
        if self._connection is None or not _answers(self._connection):
            self._connection = connect(self._dsn, "testing")
            finalize(self, self._connection.close)
        return self._connection


@contextmanager
def template(server: TestServer, migrations: Iterable[Migrations] = (ROLECALL,)) -> Iterator[str]:
    """Create a migrated database to clone, yield its name, and drop it at the end."""
    with _database(server, "template", "template1") as name:
        with connect(server.dsn(name), "testing") as connection:
            for package in migrations:
                migrate(connection, package)
        server.warm_up(name)
        yield name


@contextmanager
def clone(server: TestServer, template: str) -> Iterator[str]:
    """Create a clone of the template, yield its connection string, and drop it at the end."""
    with _database(server, "test", template) as name:
        yield server.dsn(name)


def prepare(database: object, *apps: App) -> str:
    """Migrate an existing database to the schema of Rolecall and of these apps. Return its connection string.

    `database` is anything that `dsn_of` accepts. Does nothing if the schema is current. Commits. Raises the errors of
    `rolecall.migrate`.
    """
    dsn = dsn_of(database)
    with connect(dsn, "testing") as connection:
        for package in (ROLECALL, *(each for app in apps for each in app.migrations)):
            migrate(connection, package)
    return dsn


def dsn_of(database: object) -> str:
    """Return the connection string of a database, given as a string or as a URL or (async) engine of SQLAlchemy.

    The driver in a URL (`postgresql+asyncpg://`) is dropped. Raises ConfigError for anything else.
    """
    url: Any = getattr(database, "url", database)
    if not isinstance(url, str) and hasattr(url, "render_as_string"):
        url = url.render_as_string(hide_password=False)
    if not isinstance(url, str):
        problem = "must be a connection string, or an engine or URL of SQLAlchemy"
        raise ConfigError(problem, variable="database", value=type(database).__qualname__)
    return without_driver(url)


def url_of(database: object, driver: str | None = None) -> str:
    """Return the connection string as a URL, optionally with a driver for SQLAlchemy: `url_of(database, "asyncpg")`.

    `database` is anything that `dsn_of` accepts.
    """
    parameters = conninfo_to_dict(dsn_of(database))
    user, password, host, port, name = (
        quote(str(parameters.pop(word, None) or ""), safe="") for word in ("user", "password", "host", "port", "dbname")
    )
    if host.startswith("%2F"):  # the directory of a Unix socket
        parameters["host"], host = unquote(host), ""
    if port and not host:
        parameters["port"], port = port, ""
    who = f"{user}:{password}@" if password else f"{user}@" if user else ""
    where = f"{host}:{port}" if port else host
    if parameters.get("sslmode") == "disable":  # without TLS, the default works
        del parameters["sslmode"]
    if driver == "asyncpg" and "sslmode" in parameters:
        parameters["ssl"] = parameters.pop("sslmode")
    rest = f"?{urlencode(parameters)}" if parameters else ""
    return f"postgresql{f'+{driver}' if driver else ''}://{who}{where}/{name}{rest}"


def _answers(connection: psycopg.Connection[Any]) -> bool:
    try:
        connection.execute("select")
    except psycopg.OperationalError:
        connection.close()
        return False
    return True


def _end_sessions(connection: psycopg.Connection[Any], database: str) -> None:
    # The drop terminates them as well, but then checks only every 100 ms whether they are gone.
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
