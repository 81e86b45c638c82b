"""A pool on Debian's Postgres with a standby, whose replication can be paused and which can be stopped."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import psycopg
from psycopg.conninfo import make_conninfo

from rolecall import migrate
from tests.servers import found_servers
from tools.debian import cluster, private_folder, server

DATABASE = "pool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicated:
    """The DSNs of the pool on its primary and on its standby."""

    primary: str
    standby: str
    running: ExitStack = field(repr=False)

    def hold(self) -> None:
        """Pause the replay on the standby."""
        self._ask("select pg_wal_replay_pause()")

    def stop(self) -> None:
        """Stop the standby."""
        self.running.close()

    def _ask(self, query: str) -> None:
        with psycopg.connect(self.standby, autocommit=True) as connection:
            connection.execute(query.encode())


@contextmanager
def replicated() -> Iterator[Replicated]:
    """Start both servers, with a migrated and empty pool."""
    found = found_servers()
    with cluster(found) as admin, private_folder() as (folder, account), ExitStack() as running:
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute(f"create database {DATABASE}".encode())
        primary = make_conninfo(admin, dbname=DATABASE)
        with psycopg.connect(primary, autocommit=True) as connection:
            migrate(connection)
        data = folder / "data"
        copy = [found.postgres / "pg_basebackup", "-d", admin, "-D", data, "-R", "-X", "stream", "-c", "fast"]
        subprocess.run([*account.prefix, *map(str, copy)], cwd="/", capture_output=True, check=True)
        standby = running.enter_context(server(found, folder, account))
        yield Replicated(primary=primary, standby=make_conninfo(standby, dbname=DATABASE), running=running)
