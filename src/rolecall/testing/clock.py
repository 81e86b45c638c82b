"""The database's clock in the hand of a test: set it, let hours pass at once."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import psycopg
from psycopg.sql import SQL, Identifier, Literal

from rolecall.db.connect import connect
from rolecall.db.joined import join_async
from rolecall.db.run import run, run_async
from rolecall.model.transactions import AsyncJoinable
from rolecall.sql import schedules
from rolecall.sql.statement import Statement, single
from rolecall.testing.databases import dsn_of

__all__ = ["Clock"]

SETTING = SQL("rolecall.fake_now")
RUNNING = ""
SHOW = b"select pg_catalog.set_config('rolecall.fake_now', $1, false)"

Follower = psycopg.Connection[Any] | psycopg.AsyncConnection[Any]


class Clock:
    """Stops a database's clock and moves it by hand, until `restart`.

    Connections that are opened later see the new time by themselves. Those that are open already are told by `follow`
    (psycopg, sync or async, at every move), or by `show` (any async one, once). Connections of logins that are not the
    owner's keep the real time.
    """

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn_of(dsn)
        self._followers: list[Follower] = []
        self._moment: datetime | None = None

    def now(self) -> datetime:
        """Return what the database takes for the present."""
        if self._moment is not None:
            return self._moment
        with connect(self._dsn, "clock") as connection:
            return run(connection, schedules.present())

    def set(self, moment: datetime) -> datetime:
        """Stop the clock at this moment (with a time zone).

        Raises RuntimeError where a connection that follows is in the midst of a statement.
        """
        if moment.tzinfo is None:
            raise ValueError("a moment needs a time zone")
        self._moment = moment
        self._alter(SQL("set {} = {}").format(SETTING, Literal(moment.isoformat())))
        return moment

    def advance(self, **step: float) -> datetime:
        """Move the clock: `clock.advance(minutes=5)`; words as in timedelta."""
        return self.set(self.now() + timedelta(**step))

    def restart(self) -> None:
        """Let the clock run again, and show the real time; nothing happens to one that was never stopped."""
        if self._moment is not None:
            self._moment = None
            self._alter(SQL("reset {}").format(SETTING))

    def follow(self, connection: Follower) -> None:
        """Show an open connection of psycopg's this time, now and after every move.

        What it is shown within a transaction goes with the rollback of that.
        """
        self._followers.append(connection)
        if self._moment is not None:
            _show(connection, self._moment.isoformat())

    async def show(self, connection: AsyncJoinable) -> None:
        """Show an open async connection or session the present time: asyncpg's, SQLAlchemy's or psycopg's."""
        await run_async(join_async(connection), _shown(self.now().isoformat()))

    def _alter(self, change: SQL | Any) -> None:
        with connect(self._dsn, "clock") as connection:
            connection.execute(SQL("alter database {} {}").format(Identifier(connection.info.dbname), change))
        self._followers = [follower for follower in self._followers if not follower.closed]
        for follower in self._followers:
            _show(follower, RUNNING if self._moment is None else self._moment.isoformat())


def _show(connection: Follower, moment: str) -> None:
    # By libpq itself, which asks nobody for a loop, and begins no transaction where the driver would.
    if connection.info.transaction_status is psycopg.pq.TransactionStatus.ACTIVE:
        raise RuntimeError("the clock was moved while a connection that follows it was in the midst of a statement")
    connection.pgconn.exec_params(SHOW, [moment.encode()])


def _shown(moment: str) -> Statement[str]:
    return Statement(
        query="select pg_catalog.set_config('rolecall.fake_now', %s, false)", params=(moment,), read=single
    )
