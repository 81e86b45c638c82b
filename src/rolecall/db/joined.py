"""Connections and sessions of the caller, whose transaction a statement may join."""

from __future__ import annotations

import gc
import sys
from typing import Any
from weakref import WeakSet

import psycopg

from rolecall.db.foreign import AsyncForeign, Foreign, find_async_foreign, find_foreign
from rolecall.model.errors import ConfigError

AnyConnection = psycopg.Connection[Any] | Foreign
AsyncAnyConnection = psycopg.AsyncConnection[Any] | AsyncForeign

SYNC = "psycopg2, SQLAlchemy or Django"
ASYNC = "asyncpg or SQLAlchemy's asyncio"


def join(connection: object) -> AnyConnection:
    """Return the connection in a form that `run` accepts. Raises ConfigError for an unsupported kind."""
    if isinstance(connection, psycopg.Connection):
        _refuse_pipeline(connection)
        if not connection.autocommit and _is_idle(connection):
            _refuse_sqlalchemys(connection)
        return connection
    if (foreign := find_foreign(connection)) is not None:
        if foreign.is_idle_driver:
            _refuse_sqlalchemys(connection)
        return foreign
    raise _refusal(connection, psycopg.Connection, SYNC, f"AsyncClient takes {ASYNC}")


def join_async(connection: object) -> AsyncAnyConnection:
    """Return the connection in a form that `run_async` accepts. Raises ConfigError for an unsupported kind."""
    if isinstance(connection, psycopg.AsyncConnection):
        _refuse_pipeline(connection)
        if not connection.autocommit and _is_idle(connection):
            _refuse_sqlalchemys(connection)
        return connection
    if (foreign := find_async_foreign(connection)) is not None:
        if foreign.is_idle_driver:
            _refuse_sqlalchemys(connection)
        return foreign
    raise _refusal(connection, psycopg.AsyncConnection, ASYNC, f"Client takes {SYNC}")


def _is_idle(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> bool:
    return connection.info.transaction_status is psycopg.pq.TransactionStatus.IDLE


def _refuse_pipeline(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> None:
    """Raise ConfigError in psycopg's pipeline mode, in which the results of a statement arrive later."""
    if connection.info.pipeline_status is not psycopg.pq.PipelineStatus.OFF:
        raise ConfigError(
            "is in pipeline mode, in which a call cannot wait for its result: make the call outside of "
            "`with connection.pipeline()`, in the same transaction",
            variable="connection",
        )


def _refuse_sqlalchemys(connection: object) -> None:
    """Raise ConfigError for a driver's connection that SQLAlchemy holds without having begun a transaction on it.

    SQLAlchemy would not commit what is written there, because it does not know of the transaction.
    """
    if "sqlalchemy.pool" not in sys.modules or connection in OWN:
        return
    # The connection does not record this; only the objects that refer to it show it.
    if any(type(holder).__module__.startswith("sqlalchemy.") for holder in gc.get_referrers(connection)):
        raise ConfigError(
            "is held by SQLAlchemy, which has not begun a transaction on it and would roll back what is written there: "
            "pass the SQLAlchemy connection or session itself",
            variable="connection",
        )
    OWN.add(connection)


OWN: WeakSet[object] = WeakSet()


def _refusal(connection: object, expected: type, kinds: str, hint: str) -> ConfigError:
    kind = type(connection)
    found = f"{kind.__module__}.{kind.__qualname__}"
    return ConfigError(
        f"needs a {expected.__module__}.{expected.__qualname__}, or a connection of {kinds}, not a {found} ({hint})",
        variable="connection",
        value=found,
    )
