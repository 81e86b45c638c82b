"""The Postgres for tests: the configured one, or a temporary embedded one."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from psycopg.sql import SQL, Identifier, Literal

from rolecall.app import App
from rolecall.db.connect import connect
from rolecall.db.migrations import ROLECALL
from rolecall.embedded.server import EmbeddedServer
from rolecall.embedded.start import ServerOptions
from rolecall.testing import memory
from rolecall.testing.databases import TestServer, template
from rolecall.testing.guard import guard_server

VARIABLE = "ROLECALL_TEST_SERVER"
# Its data needs neither durability nor much memory. Autovacuum would lock tables at any time, and cached catalogs of
# templates would become invalid.
THROW_AWAY = ServerOptions(
    extra={
        "fsync": "off",
        "max_wal_size": "256MB",
        "max_prepared_transactions": "20",
        "autovacuum_naptime": "1h",
    }
)
FIRST_WITH_ROUNDS = 160_000  # the server version


@contextmanager
def configured_or_embedded(folder: Path) -> Iterator[TestServer]:
    """Yield the server of ROLECALL_TEST_SERVER, or an embedded one in memory or in the folder."""
    if url := os.environ.get(VARIABLE):
        yield TestServer(url)
        return
    in_memory = memory.room()
    home = in_memory or folder
    with guard_server(home), EmbeddedServer(home, options=THROW_AWAY) as server:
        dsn = server.superuser_dsn(tcp=True)
        _speed_up_logins(dsn)
        yield TestServer(dsn, in_memory=in_memory is not None)


def _speed_up_logins(dsn: str) -> None:
    """Store the password after one round of hashing: the default of 4,096 takes each connection 5 ms of CPU time."""
    # Another process of pytest-xdist may do the same at this moment; then one of the two is rejected.
    with suppress(psycopg.errors.InternalError_), connect(dsn, "testing") as connection:
        if connection.info.server_version < FIRST_WITH_ROUNDS:
            return
        connection.execute("set scram_iterations = 1")
        login, password = connection.info.user, connection.info.password
        digest = connection.pgconn.encrypt_password(password.encode(), login.encode(), b"scram-sha-256").decode()
        connection.execute(SQL("alter role {} password {}").format(Identifier(login), Literal(digest)))


@cache
def of_this_process() -> TestServer:
    """Start a server for all tests of this process, which runs until `close`."""
    atexit.register(close)
    if "PYTEST_XDIST_WORKER" not in os.environ:
        UNTIL_CLOSED.callback(memory.forget)
    folder = UNTIL_CLOSED.enter_context(TemporaryDirectory(ignore_cleanup_errors=True))
    return UNTIL_CLOSED.enter_context(configured_or_embedded(Path(folder) / "postgres"))


def template_of_this_process(app: App | None) -> str:
    """Return the name of the template database for this app in this process."""
    packages = (ROLECALL, *(app.migrations if app else ()))
    names = tuple(package.name for package in packages)
    if names not in TEMPLATES:
        TEMPLATES[names] = UNTIL_CLOSED.enter_context(template(of_this_process(), packages))
    return TEMPLATES[names]


def close() -> None:
    """Stop this process's server, if there is one. Called at the end of the process."""
    UNTIL_CLOSED.close()


UNTIL_CLOSED = ExitStack()
TEMPLATES: dict[tuple[str, ...], str] = {}
