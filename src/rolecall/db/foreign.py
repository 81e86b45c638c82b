"""Adapters for connections and sessions of other libraries, so that our statements run in their transactions.

Each uses its library's own interface, so that the library begins the transaction and logs our statements, which end
with that transaction. No library is imported here: the caller who passes a connection has imported it.
"""

from __future__ import annotations

import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import Any

import psycopg
from psycopg.rows import tuple_row

from rolecall.model.errors import ConfigError
from rolecall.sql.statement import Row

POSTGRES = "postgresql"
PARAMETER = re.compile(r"%s(::jsonb\b)?")


class AnyForeign(ABC):
    """A connection of another library; `errors` are the exceptions that it raises."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    @property
    @abstractmethod
    def errors(self) -> tuple[type[Exception], ...]: ...

    @property
    def is_idle_driver(self) -> bool:
        """True if it is a driver's own connection and no transaction has begun."""
        return False

    @property
    def binds_on_client(self) -> bool:
        """True if its driver writes values into the text of statements, where the server may log them."""
        return False


class Foreign(AnyForeign):
    """A sync connection."""

    @abstractmethod
    def is_free(self) -> bool:
        """Return whether the next statement is committed automatically."""

    @abstractmethod
    def fetch(self, query: str, params: Sequence[object] = ()) -> list[Row]:
        """Execute a statement and return its rows; empty if it returns none."""


class AsyncForeign(AnyForeign):
    """An async connection."""

    @abstractmethod
    async def is_free(self) -> bool:
        """Return whether the next statement is committed automatically."""

    @abstractmethod
    async def fetch(self, query: str, params: Sequence[object] = ()) -> list[Row]:
        """Execute a statement and return its rows; empty if it returns none."""


def find_foreign(connection: object) -> Foreign | None:
    """Return the adapter for a connection, a session or a Django alias; None if no supported library made it.

    Raises ConfigError if it does not lead to Postgres.
    """
    if _is_a(connection, "sqlalchemy.orm", "Session"):
        return _SqlalchemySession(connection)
    if _is_a(connection, "sqlalchemy.orm", "scoped_session"):
        return _SqlalchemySession(_current_session(connection))
    if _is_a(connection, "sqlalchemy", "Connection"):
        return _SqlalchemyConnection(connection)
    if _is_a(connection, "psycopg2.extensions", "connection"):
        return _Psycopg2Connection(connection)
    return _find_django(connection)


def find_async_foreign(connection: object) -> AsyncForeign | None:
    """Return the adapter for an async connection or session; None if no supported library made it."""
    if _is_a(connection, "asyncpg", "Connection") or _is_a(connection, "asyncpg.pool", "PoolConnectionProxy"):
        return _AsyncpgConnection(connection)
    if _is_a(connection, "sqlalchemy.ext.asyncio", "AsyncSession"):
        return _SqlalchemyAsyncSession(connection)
    if _is_a(connection, "sqlalchemy.ext.asyncio", "async_scoped_session"):
        return _SqlalchemyAsyncSession(_current_session(connection))
    if _is_a(connection, "sqlalchemy.ext.asyncio", "AsyncConnection"):
        return _SqlalchemyAsyncConnection(connection)
    return None


class _Psycopg2Connection(Foreign):
    @property
    def errors(self) -> tuple[type[Exception], ...]:
        # ValueError: this driver rejects a NUL in a text itself.
        return sys.modules["psycopg2"].Error, ValueError

    @property
    def is_idle_driver(self) -> bool:
        idle = sys.modules["psycopg2.extensions"].TRANSACTION_STATUS_IDLE
        return bool(self.connection.get_transaction_status() == idle)

    @property
    def binds_on_client(self) -> bool:
        return True

    def is_free(self) -> bool:
        return bool(self.connection.autocommit and self.is_idle_driver)

    def fetch(self, query: str, params: Sequence[object] = ()) -> list[Row]:
        # A plain cursor, because the rows of the connection's own kind may have any type.
        with self.connection.cursor(cursor_factory=sys.modules["psycopg2.extensions"].cursor) as cursor:
            cursor.execute(query, tuple(params))
            return list(cursor.fetchall()) if cursor.description else []


class _OfSqlalchemy(AnyForeign):
    @property
    def errors(self) -> tuple[type[Exception], ...]:
        return (sys.modules["sqlalchemy.exc"].SQLAlchemyError,)


class _SqlalchemyConnection(_OfSqlalchemy, Foreign):
    @property
    def binds_on_client(self) -> bool:
        return bool(self._active_connection().dialect.driver == "psycopg2")

    def is_free(self) -> bool:
        return _commits_by_itself(self._active_connection())

    def fetch(self, query: str, params: Sequence[object] = ()) -> list[Row]:
        connection = self._active_connection()
        return _rows(connection.exec_driver_sql(_for_dialect(connection.dialect, query), tuple(params)))

    def _active_connection(self) -> Any:
        return self.connection


class _SqlalchemySession(_SqlalchemyConnection):
    def _active_connection(self) -> Any:
        # Begins the session's transaction if there is none.
        return self.connection.connection()


class _DjangoConnection(Foreign):
    def __init__(self, connection: Any) -> None:
        _require_postgres(connection.vendor)
        super().__init__(connection)

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        return (sys.modules["django.db"].Error,)

    def is_free(self) -> bool:
        return bool(self.connection.get_autocommit())

    @property
    def binds_on_client(self) -> bool:
        self.connection.ensure_connection()
        return not isinstance(self.connection.connection, psycopg.Connection)

    def fetch(self, query: str, params: Sequence[object] = ()) -> list[Row]:
        with self.connection.cursor() as cursor:
            if not self.binds_on_client:
                # Django's own cursor would write the values into the text of the statement. The connection's time zone
                # changes with USE_TZ and TIME_ZONE, and Django applies it to each cursor.
                cursor.cursor = psycopg.Cursor(self.connection.connection, row_factory=tuple_row)
                self._use_time_zone(cursor.cursor)
            cursor.execute(query, params)
            return list(cursor.fetchall()) if cursor.description else []

    def _use_time_zone(self, cursor: psycopg.Cursor[Any]) -> None:
        # Only if it has changed, because a registration copies the adapters.
        loader = cursor.adapters.get_loader(psycopg.adapters.types["timestamptz"].oid, psycopg.pq.Format.TEXT)
        if getattr(loader, "timezone", None) != self.connection.timezone:
            django = sys.modules["django.db.backends.postgresql.psycopg_any"]
            django.register_tzloader(self.connection.timezone, cursor)


class _AsyncpgConnection(AsyncForeign):
    @property
    def errors(self) -> tuple[type[Exception], ...]:
        asyncpg = sys.modules["asyncpg"]
        return asyncpg.PostgresError, asyncpg.InterfaceError, OSError

    @property
    def is_idle_driver(self) -> bool:
        # A pool wraps its connections in a proxy, and these belong to the caller.
        return _is_a(self.connection, "asyncpg", "Connection") and not self.connection.is_in_transaction()

    async def is_free(self) -> bool:
        return not self.connection.is_in_transaction()

    async def fetch(self, query: str, params: Sequence[object] = ()) -> list[Row]:
        return [tuple(row) for row in await self.connection.fetch(_number_parameters(query), *params)]


class _SqlalchemyAsyncConnection(_OfSqlalchemy, AsyncForeign):
    async def is_free(self) -> bool:
        return _commits_by_itself((await self._active_connection()).sync_connection)

    async def fetch(self, query: str, params: Sequence[object] = ()) -> list[Row]:
        connection = await self._active_connection()
        return _rows(await connection.exec_driver_sql(_for_dialect(connection.dialect, query), tuple(params)))

    async def _active_connection(self) -> Any:
        return self.connection


class _SqlalchemyAsyncSession(_SqlalchemyAsyncConnection):
    async def _active_connection(self) -> Any:
        # Begins the session's transaction if there is none.
        return await self.connection.connection()


def _is_a(found: object, module: str, name: str) -> bool:
    """Return whether an object is of a library's class; the library may not have been imported."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(found, kind)


def _find_django(connection: object) -> Foreign | None:
    database = sys.modules.get("django.db")
    if database is None:
        return None
    if isinstance(connection, str):
        try:
            return _DjangoConnection(database.connections[connection])
        except database.connections.exception_class as error:
            raise ConfigError(str(error), variable="connection", value=connection) from None
    if _is_a(connection, "django.db.backends.base.base", "BaseDatabaseWrapper"):
        return _DjangoConnection(connection)
    if _is_a(connection, "django.utils.connection", "ConnectionProxy"):
        return _DjangoConnection(connection)
    return None


def _current_session(registry: object) -> Any:
    return registry() if callable(registry) else registry


def _require_postgres(name: str) -> None:
    if name != POSTGRES:
        raise ConfigError("does not lead to a Postgres database", variable="connection", value=name)


def _commits_by_itself(connection: Any) -> bool:
    return bool(connection.connection.dbapi_connection.autocommit)


def _rows(result: Any) -> list[Row]:
    return [tuple(row) for row in result] if result.returns_rows else []


def _for_dialect(dialect: Any, query: str) -> str:
    _require_postgres(dialect.name)
    return _number_parameters(query) if dialect.paramstyle == "numeric_dollar" else query


@cache
def _number_parameters(query: str) -> str:
    """Write parameters as $1, $2; JSON is passed as text, so that no codec of the connection encodes it again."""
    number = 0

    def place(found: re.Match[str]) -> str:
        nonlocal number
        number += 1
        return f"${number}::text::jsonb" if found[1] else f"${number}"

    return PARAMETER.sub(place, query)
