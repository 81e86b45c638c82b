"""Debian's Postgres with its default settings, and PgBouncer in front of the tests' server."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tools.debian import cluster, private_folder, run_server
from tools.servers import Servers, find

# The defaults, except for the address and the number of server connections: with few, clients have to share them.
SETTINGS = """
[databases]
* = {server}
[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
auth_type = any
pool_mode = {mode}
default_pool_size = {size}
logfile = {folder}/log
"""
PORT = 6432
ADDRESS = frozenset({"host", "port", "user", "password"})


class Bouncer:
    """A running PgBouncer, with a DSN for each database of the tests' server."""

    def __init__(self, folder: Path, user: str) -> None:
        self._folder = folder
        self._user = user

    def through(self, dsn: str) -> str:
        """Return the DSN of the same database through the pooler."""
        return self._way(str(conninfo_to_dict(dsn)["dbname"]))

    @property
    def console(self) -> str:
        """The DSN of the pooler's admin console."""
        return self._way("pgbouncer")

    @property
    def log(self) -> str:
        """The pooler's log."""
        return (self._folder / "log").read_text("utf-8")

    def _way(self, database: str) -> str:
        return make_conninfo(host=str(self._folder), port=PORT, user=self._user, dbname=database)


@pytest.fixture(scope="session")
def debian_postgres() -> Iterator[str]:
    with cluster(found_servers()) as dsn:
        yield dsn


@pytest.fixture
def pgbouncer(database: str) -> Iterator[Bouncer]:
    """PgBouncer in transaction mode, with two connections to each database of the tests' server."""
    with bouncing(database) as bouncer:
        yield bouncer


@contextmanager
def bouncing(dsn: str, *, mode: str = "transaction", size: int = 2) -> Iterator[Bouncer]:
    """Start a PgBouncer in front of the server of this connection string."""
    found = found_servers()
    parts = {name: str(value) for name, value in conninfo_to_dict(dsn).items() if name in ADDRESS}
    with private_folder() as (folder, account):
        bouncer = Bouncer(folder, parts["user"])
        settings = folder / "pgbouncer.ini"
        settings.write_text(SETTINGS.format(server=make_conninfo("", **parts), folder=folder, mode=mode, size=size))
        account.give(settings)
        with run_server([found.pgbouncer, settings], found, account, dsn=bouncer.console, stop=signal.SIGTERM):
            yield bouncer


def found_servers() -> Servers:
    """Debian's Postgres and PgBouncer. Without them the test is skipped."""
    found = find()
    if found is None:
        pytest.skip("Debian's Postgres or PgBouncer is not installed: run ./dev servers")
    return found
