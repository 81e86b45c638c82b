"""The demo's Postgres: an embedded one in its folder, restarted when it stops, or a given one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import psycopg

from rolecall import DatabaseUnavailable, EmbeddedServer, migrate
from storecrawl.migrations import MIGRATIONS

T = TypeVar("T")
Connection = psycopg.Connection[Any]

CONNECT_SECONDS = 5


class Database:
    """A connection to the demo's database that is reopened when lost."""

    def __init__(self, folder: Path, given_dsn: str | None) -> None:
        self._given_dsn = given_dsn
        self._server = None if given_dsn else EmbeddedServer(folder)
        self._connection: Connection | None = None

    def __enter__(self) -> Self:
        """Connect to the database and migrate it. Raises EmbeddedServerError, OperationalError."""
        try:
            connection = self._connect()
            migrate(connection)
            migrate(connection, MIGRATIONS)
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    @property
    def dsn(self) -> str:
        """The database's address; an embedded one may return on another port."""
        return self._given_dsn or self._require_server().dsn()

    def keep_reachable(self) -> None:
        """Reconnect if the connection was lost, and restart the embedded server if necessary.

        A database that does not respond is tried again next time. Raises EmbeddedServerError for an embedded one that
        cannot be restarted.
        """
        if self._connection is None or self._connection.closed:
            with suppress(psycopg.OperationalError):
                self._connect()

    def query(self, operation: Callable[[Connection], T]) -> T | None:
        if self._connection is None:
            return None
        try:
            return operation(self._connection)
        except (psycopg.OperationalError, DatabaseUnavailable):
            return None

    def _connect(self) -> Connection:
        if self._server is not None:
            self._server.attach()
        self._connection = psycopg.connect(self.dsn, autocommit=True, connect_timeout=CONNECT_SECONDS)
        return self._connection

    def _require_server(self) -> EmbeddedServer:
        if self._server is None:
            raise RuntimeError("no embedded database: another one was given")
        return self._server

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._server is not None:
            self._server.detach()
