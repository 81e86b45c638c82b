"""The temporary server of all measurements: the embedded one with 1 GB of buffers and 200 connections, or Debian's."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import psycopg

from rolecall.embedded.server import EmbeddedServer
from rolecall.embedded.start import ServerOptions
from tools.debian import SUPERUSER, cluster
from tools.errors import SetupError
from tools.servers import find

DATABASE = "bench"
# The embedded server is configured to save resources; a benchmark restores Postgres's defaults.
AS_POSTGRES_COMES = {
    "wal_level": "replica",
    "max_wal_senders": "10",
    "dynamic_shared_memory_type": "posix",
    "logging_collector": "off",
    "log_lock_waits": "off",
}
OPTIONS = ServerOptions(
    shared_buffers="1GB",
    max_connections=200,
    tcp_keepalives_idle=0,
    tcp_keepalives_interval=0,
    tcp_keepalives_count=0,
    client_connection_check_interval="0",
    extra=AS_POSTGRES_COMES,
)
SHOWN = (
    "server_version",
    "shared_buffers",
    "max_connections",
    "fsync",
    "synchronous_commit",
    "wal_level",
    "wal_sync_method",
    "autovacuum",
    "jit",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A running server: `dsn` of the measured database, `admin` of another one, and a folder for measurements."""

    dsn: str = field(repr=False)
    admin: str = field(repr=False)
    postmaster: int
    cluster: Path
    scratch: Path

    def empty(self) -> None:
        """Replace the measured database with a new one."""
        with self.connect(self.admin) as connection:
            connection.execute(f"drop database if exists {DATABASE} with (force)".encode())
            connection.execute(f"create database {DATABASE}".encode())

    def analyze(self) -> None:
        """Update the planner's statistics, and prevent checkpoints during the measurement."""
        with self.connect(self.dsn) as connection:
            connection.execute("analyze")
        self.checkpoint()

    def checkpoint(self) -> None:
        """Write out now what a checkpoint would otherwise write during a measurement."""
        with self.connect(self.dsn) as connection:
            connection.execute("checkpoint")

    @contextmanager
    def held_snapshot(self) -> Iterator[None]:
        """Hold a snapshot as a forgotten transaction does, so that dead rows cannot be removed."""
        with psycopg.connect(self.dsn) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.execute("select count(*) from pg_class")
            yield
            connection.rollback()

    def wal_position(self) -> str:
        """Return the current end of the WAL."""
        with self.connect(self.admin) as connection:
            row = connection.execute("select pg_current_wal_flush_lsn()").fetchone()
        return str(row[0]) if row else "0/0"

    def wal_since(self, position: str) -> int | None:
        """Return the bytes of WAL records since a position, without full-page images; None if unknown."""
        with self.connect(self.admin) as connection:
            try:
                connection.execute("create extension if not exists pg_walinspect")
            except psycopg.Error:
                return None
            query = "select sum(record_size)::bigint from pg_get_wal_stats(%s, pg_current_wal_flush_lsn())"
            row = connection.execute(query, [position]).fetchone()
        return int(row[0]) if row and row[0] is not None else None

    def settings(self) -> dict[str, str]:
        """Return the server's settings that affect the measurements."""
        with self.connect(self.admin) as connection:
            rows = connection.execute(
                "select name, current_setting(name) from pg_settings where name = any(%s)", [list(SHOWN)]
            )
            return dict(rows.fetchall())

    def environment(self) -> dict[str, str]:
        """Return the adapter's environment variables."""
        return {
            "BENCH_PGDSN": self.dsn,
            "BENCH_PGDATA": str(self.cluster),
            "BENCH_STATS_DIR": str(self.scratch / "stats"),
            "BENCH_WORKER_LOG": str(self.scratch / "workers.log"),
        }

    def connect(self, dsn: str) -> psycopg.Connection[tuple[str, str]]:
        """Open a connection in autocommit mode."""
        return psycopg.connect(dsn, autocommit=True)


@contextmanager
def throw_away_server(options: ServerOptions = OPTIONS) -> Iterator[Server]:
    """Start a server in a temporary folder, which is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="rolecall-bench-") as folder, server_in(Path(folder), options) as server:
        yield server


@contextmanager
def server_in(folder: Path, options: ServerOptions = OPTIONS) -> Iterator[Server]:
    """Start a server in a folder that is kept."""
    with (
        tempfile.TemporaryDirectory(prefix="rolecall-bench-", dir=_memory()) as scratch,
        EmbeddedServer(folder, options=options) as embedded,
    ):
        embedded.dsn(DATABASE)
        yield Server(
            # as the superuser: the measurements read the statistics of all sessions and request checkpoints
            dsn=embedded.superuser_dsn(DATABASE, tcp=True),
            admin=embedded.superuser_dsn(tcp=True),
            postmaster=embedded.pid or 0,
            cluster=next(Path(folder, "postgres").glob("data-*")),
            scratch=Path(scratch),
        )


@contextmanager
def debian_server() -> Iterator[Server]:
    """Start Debian's Postgres on disk with its default settings. Raises SetupError if it is missing."""
    found = find()
    if found is None:
        raise SetupError("Debian's Postgres is not installed: run ./dev servers")
    with (
        tempfile.TemporaryDirectory(prefix="rolecall-bench-", dir=_memory()) as scratch,
        cluster(found, tempfile.gettempdir()) as dsn,
    ):
        with psycopg.connect(dsn, autocommit=True) as connection:
            row = connection.execute("show data_directory").fetchone()
        data = Path(row[0] if row else "")
        address = f"postgresql://{SUPERUSER}@{quote(str(data.parent), safe='')}/{{}}"
        yield Server(
            dsn=address.format(DATABASE),
            admin=address.format("postgres"),
            postmaster=int((data / "postmaster.pid").read_text().split()[0]),
            cluster=data,
            scratch=Path(scratch),
        )


def _memory() -> str | None:
    """Return a folder in memory for the measurements: task functions must not wait for a disk."""
    shared = "/dev/shm"  # noqa: S108 - the kernel's memory, if it has any
    return shared if os.access(shared, os.W_OK) else None
