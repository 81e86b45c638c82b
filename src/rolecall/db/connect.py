"""Connections and pools with the settings that make a dead server show within seconds."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from rolecall.db.run import translated
from rolecall.model.errors import ConfigError

__all__ = ["async_pool", "connect", "connect_async", "pool", "with_defaults"]

DEFAULTS = {
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "8000",
}
PREPARE_AFTER = 5

Connection = psycopg.Connection[tuple[Any, ...]]
AsyncConnection = psycopg.AsyncConnection[tuple[Any, ...]]


def with_defaults(dsn: str, what: str) -> str:
    """Return the DSN with our timeouts and name where it says nothing itself."""
    try:
        given = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        # The text may hold a password, and libpq's message quotes it: neither may be shown.
        problem = "is not a Postgres URL such as postgresql://user:password@host:5432/database"
        raise ConfigError(problem, variable="database", value="(hidden)") from None
    defaults = DEFAULTS | {"application_name": f"rolecall:{what}"}
    return make_conninfo(dsn, **{name: value for name, value in defaults.items() if name not in given})


def connect(dsn: str, what: str, *, prepare_threshold: int | None = PREPARE_AFTER) -> Connection:
    """Open a connection in autocommit; `prepare_threshold=None` is for transaction poolers."""
    with translated():
        return psycopg.connect(with_defaults(dsn, what), autocommit=True, prepare_threshold=prepare_threshold)


async def connect_async(dsn: str, what: str, *, prepare_threshold: int | None = PREPARE_AFTER) -> AsyncConnection:
    """Open a connection in autocommit; `prepare_threshold=None` is for transaction poolers."""
    with translated():
        return await psycopg.AsyncConnection.connect(
            with_defaults(dsn, what), autocommit=True, prepare_threshold=prepare_threshold
        )


def pool(
    dsn: str, what: str, *, max_size: int = 4, prepare_threshold: int | None = PREPARE_AFTER
) -> ConnectionPool[Connection]:
    """Make a pool of autocommit connections, not opened yet."""
    return ConnectionPool(
        with_defaults(dsn, what),
        min_size=0,
        max_size=max_size,
        open=False,
        timeout=10.0,
        kwargs={"autocommit": True, "prepare_threshold": prepare_threshold},
        check=ConnectionPool.check_connection,
        name=what,
    )


def async_pool(
    dsn: str,
    what: str,
    *,
    max_size: int = 4,
    prepare_threshold: int | None = PREPARE_AFTER,
    statement_timeout: float | None = None,
) -> AsyncConnectionPool[AsyncConnection]:
    """Make a pool of autocommit connections, not opened yet; the server ends what takes longer, in seconds."""

    async def configure(connection: AsyncConnection) -> None:
        if statement_timeout is not None:
            milliseconds = f"{statement_timeout * 1000:.0f}"
            await connection.execute("select set_config('statement_timeout', %s, false)", (milliseconds,))

    return AsyncConnectionPool(
        with_defaults(dsn, what),
        min_size=0,
        max_size=max_size,
        open=False,
        timeout=10.0,
        kwargs={"autocommit": True, "prepare_threshold": prepare_threshold},
        configure=configure,
        check=AsyncConnectionPool.check_connection,
        name=what,
    )
