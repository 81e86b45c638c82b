"""Detection of a pooler in front of the database, and our own connections, which record it.

A pooler in transaction mode lends a server connection for one transaction at a time, so clients share what they
prepare or set there: a statement of the same name may be another client's and run with our parameters. Nothing may be
prepared before this is known. It is detected by the process id with which a pooler greets its clients, which is not
the backend's.
"""

from __future__ import annotations

import logging
from typing import Any

import psycopg
from psycopg import IsolationLevel

PREPARE_AFTER = 5
# JIT compilation takes up to a second, our statements take milliseconds. Behind a pooler, the setting would also
# affect other programs.
QUESTION = """select pg_backend_pid(), current_setting('default_transaction_isolation'),
    case when pg_backend_pid() = %s then set_config('jit', 'off', false) end"""
USUAL = "read committed"
SET_USUAL = "set default_transaction_isolation = 'read committed'"
# The driver reads no other form. PgBouncer restores this parameter for each of its clients.
SET_DATES = "set datestyle = 'ISO'"

log = logging.getLogger("rolecall.db")


class Pooler:
    """The knowledge about a pooler in front of one database: `configured`, or detected by the first
    connection.
    """

    def __init__(self, *, configured: bool | None = None) -> None:
        self._configured = configured
        self._is_present = bool(configured)
        self._direct: bool | None = None

    @property
    def is_present(self) -> bool:
        """True if nothing may be prepared or set on connections."""
        return self._is_present

    @property
    def direct(self) -> bool:
        """True if every connection so far was served by the backend that greeted it, whatever was configured."""
        return self._direct is True and not self._is_present

    def compare(self, greeted_by: int, served_by: int) -> None:
        """Compare the process id with which a connection was greeted and that of the backend that serves it."""
        self._direct = self._direct is not False and greeted_by == served_by
        if self._configured is None and greeted_by != served_by:
            self.assume_present()

    def assume_present(self) -> None:
        """Assume a pooler from now on, whatever was configured, and log it once."""
        if not self._is_present:
            self._is_present = True
            level = logging.INFO if self._configured is None else logging.WARNING
            log.log(level, "A pooler is in front of the database: nothing is prepared or set on its connections")


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """One of our own connections. On a caller's connections nothing is prepared, because they may lead to a
    pooler.
    """

    pooler: Pooler | None = None
    # When a pool last lent it, on the monotonic clock.
    lent_at: float = 0.0

    def introduce(self, pooler: Pooler) -> None:
        """Detect a pooler, turn JIT compilation off if there is none, and set what we depend on."""
        with self.cursor() as cursor:
            usual = _learn(self, pooler, cursor.execute(QUESTION, (self.info.backend_pid,)).fetchone())
            if not usual and not pooler.is_present:
                cursor.execute(SET_USUAL)
            elif not usual:
                self.isolation_level = IsolationLevel.READ_COMMITTED
            if not _writes_iso_dates(self):
                cursor.execute(SET_DATES)

    def forget_prepared(self) -> None:
        """Prepare nothing from now on, here and on all connections through the same pooler."""
        _forget(self)


class AsyncConnection(psycopg.AsyncConnection[tuple[Any, ...]]):
    """One of our own connections. On a caller's connections nothing is prepared, because they may lead to a
    pooler.
    """

    pooler: Pooler | None = None
    # When a pool last lent it, on the monotonic clock.
    lent_at: float = 0.0

    async def introduce(self, pooler: Pooler) -> None:
        """Detect a pooler, turn JIT compilation off if there is none, and set what we depend on."""
        async with self.cursor() as cursor:
            await cursor.execute(QUESTION, (self.info.backend_pid,))
            usual = _learn(self, pooler, await cursor.fetchone())
            if not usual and not pooler.is_present:
                await cursor.execute(SET_USUAL)
            elif not usual:
                await self.set_isolation_level(IsolationLevel.READ_COMMITTED)
            if not _writes_iso_dates(self):
                await cursor.execute(SET_DATES)

    def forget_prepared(self) -> None:
        """Prepare nothing from now on, here and on all connections through the same pooler."""
        _forget(self)


def _learn(connection: Connection | AsyncConnection, pooler: Pooler, answer: tuple[Any, ...] | None) -> bool:
    if answer is None:
        raise psycopg.OperationalError("the server did not report its process id")
    served_by, level, _ = answer
    pooler.compare(connection.info.backend_pid, served_by)
    connection.pooler = pooler
    connection.prepare_threshold = None if pooler.is_present else PREPARE_AFTER
    return bool(level == USUAL)


def _writes_iso_dates(connection: Connection | AsyncConnection) -> bool:
    return (connection.info.parameter_status("DateStyle") or "ISO").startswith("ISO")


def _forget(connection: Connection | AsyncConnection) -> None:
    connection.prepare_threshold = None
    if connection.pooler is not None:
        connection.pooler.assume_present()
