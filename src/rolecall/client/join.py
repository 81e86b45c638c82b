"""Joins a caller's own transaction: the one place that knows which drivers' connections we speak through."""

from __future__ import annotations

from typing import Any

import psycopg

from rolecall.model.errors import ConfigError

__all__ = ["join", "join_async"]


def join(connection: object) -> psycopg.Connection[Any]:
    """Return the connection as one that `run` takes; raise ConfigError for any other kind."""
    if isinstance(connection, psycopg.Connection):
        return connection
    raise _refused(connection, psycopg.Connection, "AsyncClient takes psycopg's AsyncConnection")


def join_async(connection: object) -> psycopg.AsyncConnection[Any]:
    """Return the connection as one that `run_async` takes; raise ConfigError for any other kind."""
    if isinstance(connection, psycopg.AsyncConnection):
        return connection
    raise _refused(connection, psycopg.AsyncConnection, "Client takes psycopg's Connection")


def _refused(connection: object, wanted: type, hint: str) -> ConfigError:
    kind = type(connection)
    found = f"{kind.__module__}.{kind.__qualname__}"
    return ConfigError(
        f"needs a {wanted.__module__}.{wanted.__qualname__}, not a {found} ({hint})",
        variable="connection",
        value=found,
    )
