"""Connections, with timeouts that detect a dead server within seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from traceback import clear_frames
from typing import Any

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from rolecall.config.dsn import read_dsn
from rolecall.config.parsing import InvalidText
from rolecall.db.pooler import AsyncConnection, Connection, Pooler
from rolecall.db.run import translating_errors
from rolecall.model.errors import ConfigError

DEFAULTS = {
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "8000",
}
# Text is read as UTF-8 whatever the encoding of the database; the driver returns bytes from one in SQL_ASCII.
ALWAYS: Mapping[str, Any] = {"client_encoding": "UTF8"}
# Whether statements may be prepared is known only after connecting.
OURS: Mapping[str, Any] = {"autocommit": True, "prepare_threshold": None}


def with_defaults(dsn: str, what: str) -> str:
    """Return the DSN with our timeouts and application name, unless it sets them itself. Raises ConfigError."""
    try:
        readable = read_dsn(dsn)
    except InvalidText as error:
        raise ConfigError(error.problem, variable="database", value=error.shown) from None
    given = conninfo_to_dict(readable)
    defaults = DEFAULTS | {"application_name": f"rolecall:{what}"}
    return make_conninfo(readable, **{name: value for name, value in defaults.items() if name not in given}, **ALWAYS)


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
