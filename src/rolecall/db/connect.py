"""Connections and pools, with timeouts that detect a dead server within seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from traceback import clear_frames
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from rolecall.db.pooler import AsyncConnection, Connection, Pooler
from rolecall.db.run import require_life, require_life_async, translating_errors
from rolecall.model.errors import ConfigError

DEFAULTS = {
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "8000",
}
# Whether statements may be prepared is known only after connecting.
OURS: Mapping[str, Any] = {"autocommit": True, "prepare_threshold": None}


def with_defaults(dsn: str, what: str) -> str:
    """Return the DSN with our timeouts and application name, unless it sets them itself."""
    try:
        given = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        # The text may contain a password, and libpq's message quotes it, so neither may be shown.
        problem = "is not a Postgres URL such as postgresql://user:password@host:5432/database"
        raise ConfigError(problem, variable="database", value="(hidden)") from None
    defaults = DEFAULTS | {"application_name": f"rolecall:{what}"}
    return make_conninfo(dsn, **{name: value for name, value in defaults.items() if name not in given})


def connect(dsn: str, what: str, pooler: Pooler | None = None) -> Connection:
    """Open a connection in autocommit. Without a `pooler`, statements are not prepared on it."""
    with translating_errors():
        connection = Connection.connect(with_defaults(dsn, what), **OURS)
        try:
            connection.introduce(pooler or Pooler(configured=True))
        except BaseException:
            connection.close()
            raise
        return connection


async def connect_async(dsn: str, what: str, pooler: Pooler | None = None) -> AsyncConnection:
    """Open a connection in autocommit. Without a `pooler`, statements are not prepared on it.

    A cancellation closes the unfinished connection.
    """
    with translating_errors():
        try:
            connection = await AsyncConnection.connect(with_defaults(dsn, what), **OURS)
        except asyncio.CancelledError as cancelled:
            # Only the driver's frames refer to the connection, and the error keeps these alive.
            clear_frames(cancelled.__traceback__)
            raise
        try:
            await connection.introduce(pooler or Pooler(configured=True))
        except BaseException:
            await connection.close()
            raise
        return connection


def pool(dsn: str, what: str, pooler: Pooler | None = None, *, max_size: int = 4) -> ConnectionPool[Connection]:
    """Create a pool of autocommit connections that is not open yet."""
    known = pooler or Pooler()
    return ConnectionPool(
        with_defaults(dsn, what),
        connection_class=Connection,
        min_size=0,
        max_size=max_size,
        open=False,
        timeout=10.0,
        kwargs=dict(OURS),
        configure=lambda connection: connection.introduce(known),
        check=require_life,
        name=what,
    )


def async_pool(
    dsn: str, what: str, pooler: Pooler | None = None, *, max_size: int = 4, timeout: float = 10.0
) -> AsyncConnectionPool[AsyncConnection]:
    """Create a pool of autocommit connections that is not open yet; `timeout` is the wait for a connection in
    seconds.
    """
    known = pooler or Pooler()
    return AsyncConnectionPool(
        with_defaults(dsn, what),
        connection_class=AsyncConnection,
        min_size=0,
        max_size=max_size,
        open=False,
        timeout=timeout,
        kwargs=dict(OURS),
        configure=lambda connection: connection.introduce(known),
        check=require_life_async,
        name=what,
    )
