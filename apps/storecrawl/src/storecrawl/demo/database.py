"""The demo's Postgres: the embedded one in its folder, revived when it dies, or the one that it was given."""

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
    """One connection to the demo's database, opened anew whenever it was lost."""

    def __init__(self, folder: Path, given: str | None) -> None:
        self._given = given
        self._server = None if given else EmbeddedServer(folder)
        self._connection: Connection | None = None

    def __enter__(self) -> Self:
        """Reach the database and bring its tables up to date. Raises EmbeddedServerError, OperationalError."""
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
        """How to reach the database; the embedded one may come back under another port."""
        return self._given or self._embedded().dsn()

    def keep_reachable(self) -> None:
        """Connect anew if the connection was lost, reviving the embedded server if need be.

        A database that does not answer is left for the next time. Raises EmbeddedServerError for an embedded one that
        cannot be revived.
        """
        if self._connection is None or self._connection.closed:
            with suppress(psycopg.OperationalError):
                self._connect()

    def ask(self, question: Callable[[Connection], T]) -> T | None:
        """Return the answer, or None while the database is away."""
        if self._connection is None:
            return None
        try:
            return question(self._connection)
        except (psycopg.OperationalError, DatabaseUnavailable):
            return None

    def _connect(self) -> Connection:
        if self._server is not None:
            self._server.attach()
        self._connection = psycopg.connect(self.dsn, autocommit=True, connect_timeout=CONNECT_SECONDS)
        return self._connection

    def _embedded(self) -> EmbeddedServer:
        if self._server is None:
            raise RuntimeError("the database was given: there is no embedded one")
        return self._server

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._server is not None:
            self._server.detach()
