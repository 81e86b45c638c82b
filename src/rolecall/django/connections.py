"""Django's database connections: where Rolecall's tables are, and fresh connections for handlers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import close_old_connections, connections, reset_queries
from psycopg import pq
from psycopg.conninfo import make_conninfo

from rolecall.django.options import options

POSTGRES = "postgresql"
OF_DJANGO = "client_encoding"


def database_alias() -> str:
    """Return the alias of Rolecall's database. Raises ImproperlyConfigured unless it is a Postgres."""
    alias = options().database
    if alias not in connections.settings:
        raise ImproperlyConfigured(f"ROLECALL['DATABASE'] is {alias!r}, which is not in DATABASES")
    if connections[alias].vendor != POSTGRES:
        raise ImproperlyConfigured(
            f"Rolecall needs Postgres, but DATABASES[{alias!r}] is {connections[alias].display_name}: "
            "name the alias of a Postgres in ROLECALL['DATABASE']"
        )
    return alias


def database_dsn() -> str:
    """Return the connection string of Rolecall's database from Django's settings, in tests of the test database."""
    connection = connections[database_alias()]
    keywords = {option.keyword.decode() for option in pq.Conninfo.get_defaults()} - {OF_DJANGO}
    parameters = {word: value for word, value in connection.get_connection_params().items() if word in keywords}
    if role := connection.settings_dict["OPTIONS"].get("assume_role"):
        parameters["options"] = f"{parameters.get('options', '')} -c role={role}".strip()
    return make_conninfo(**parameters)


def database_identity() -> tuple[object, ...]:
    """Return the settings that identify Rolecall's database."""
    parameters = connections[database_alias()].settings_dict
    return parameters["HOST"], parameters["PORT"], parameters["NAME"]


class HandlerConnections:
    """The connections of handlers: fresh ones of their thread, or those lent by a test."""

    def __init__(self) -> None:
        self._shared_connections: Mapping[str, Any] = {}

    @contextmanager
    def share(self, connections_: Mapping[str, Any]) -> Iterator[None]:
        """Let handlers of any thread use these connections until the block ends, one handler at a time."""
        for connection in connections_.values():
            connection.inc_thread_sharing()
        self._shared_connections = connections_
        try:
            yield
        finally:
            self._shared_connections = {}
            for connection in connections_.values():
                connection.dec_thread_sharing()

    @contextmanager
    def prepare(self) -> Iterator[None]:
        """Prepare connections for a handler, and release them. Must run in the thread that uses them."""
        self.take()
        try:
            yield
        finally:
            self.give_back()

    def take(self) -> None:
        """Start like a request: close connections that are too old or broken."""
        if self._shared_connections:
            for alias, connection in self._shared_connections.items():
                connections[alias] = connection
        else:
            reset_queries()
            close_old_connections()

    def give_back(self) -> None:
        if self._shared_connections:
            for alias in self._shared_connections:
                del connections[alias]
        else:
            close_old_connections()
