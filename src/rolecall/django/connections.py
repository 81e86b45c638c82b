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

__all__ = ["HandlerConnections", "alias_of_pool", "dsn_of_pool", "place_of_pool"]

POSTGRES = "postgresql"
OF_DJANGO = "client_encoding"


def alias_of_pool() -> str:
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


def dsn_of_pool() -> str:
    """Return the connection string of Rolecall's database from Django's settings, in tests of the test database."""
    connection = connections[alias_of_pool()]
    known = {option.keyword.decode() for option in pq.Conninfo.get_defaults()} - {OF_DJANGO}
    said = {word: value for word, value in connection.get_connection_params().items() if word in known}
    if role := connection.settings_dict["OPTIONS"].get("assume_role"):
        said["options"] = f"{said.get('options', '')} -c role={role}".strip()
    return make_conninfo(**said)


def place_of_pool() -> tuple[object, ...]:
    """Return the settings that identify Rolecall's database."""
    said = connections[alias_of_pool()].settings_dict
    return said["HOST"], said["PORT"], said["NAME"]


class HandlerConnections:
    """The connections of handlers: fresh ones of their thread, or those lent by a test."""

    def __init__(self) -> None:
        self._lent: Mapping[str, Any] = {}

    @contextmanager
    def lending(self, lent: Mapping[str, Any]) -> Iterator[None]:
        """Let handlers of any thread use these connections until the block ends, one handler at a time."""
        for connection in lent.values():
            connection.inc_thread_sharing()
        self._lent = lent
        try:
            yield
        finally:
            self._lent = {}
            for connection in lent.values():
                connection.dec_thread_sharing()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Prepare connections for a handler, and release them. Must run in the thread that uses them."""
        self.take()
        try:
            yield
        finally:
            self.give_back()

    def take(self) -> None:
        """Start like a request: close connections that are too old or broken."""
        if self._lent:
            for alias, connection in self._lent.items():
                connections[alias] = connection
        else:
            reset_queries()
            close_old_connections()

    def give_back(self) -> None:
        if self._lent:
            for alias in self._lent:
                del connections[alias]
        else:
            close_old_connections()
