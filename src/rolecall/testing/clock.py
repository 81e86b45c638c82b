"""A test's control over the database's clock."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Composed, Identifier, Literal

from rolecall.db.connect import connect
from rolecall.db.joined import join_async
from rolecall.db.run import run, run_async
from rolecall.model.transactions import AsyncJoinable
from rolecall.sql import schedules
from rolecall.sql.statement import Statement, single
from rolecall.testing.databases import dsn_of

SETTING = SQL("rolecall.fake_now")
RUNNING = ""
IDLE = psycopg.pq.TransactionStatus.IDLE
# The parameters that two connections to one database have in common.
PLACE = ("host", "port", "dbname", "user")
SHOW = b"select pg_catalog.set_config('rolecall.fake_now', $1, false)"

Follower = psycopg.Connection[Any] | psycopg.AsyncConnection[Any]


class Clock:
    """Stops a database's clock and moves it, until `restart`.

    Connections opened later use the new time. Open connections need `follow` (psycopg, sync or async: updated by every
    move) or `show` (any async connection: updated once). Connections of logins other than the owner use the real time.
    """

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn_of(dsn)
        given = conninfo_to_dict(self._dsn)
        # psycopg adds an address to each connection, so addresses are compared only if given here.
        self._place = {name: given.get(name) for name in (*PLACE, *given.keys() & {"hostaddr"})}
        self._followers: list[Follower] = []
        self._moment: datetime | None = None

    def now(self) -> datetime:
        if self._moment is not None:
            return self._moment
        with connect(self._dsn, "clock") as connection:
            return run(connection, schedules.present())

    def set(self, moment: datetime) -> datetime:
        """Stop the clock at this moment, which needs a time zone.

        Raises RuntimeError if a following connection is executing a statement.
        """
        if moment.tzinfo is None:
            raise ValueError("the moment needs a time zone")
        self._moment = moment
        self._alter(SQL("set {} = {}").format(SETTING, Literal(moment.isoformat())))
        return moment

    def advance(self, **step: float) -> datetime:
        """Move the clock: `clock.advance(minutes=5)`. The arguments are those of timedelta."""
        return self.set(self.now() + timedelta(**step))

    def restart(self) -> None:
        """Return to the real time. Does nothing if the clock was never stopped."""
        if self._moment is not None:
            self._moment = None
            self._alter(SQL("reset {}").format(SETTING))

    def follow(self, connection: Follower) -> None:
        """Set this time for an open psycopg connection, now and after every move.

        If the connection is in a transaction, rolling that back also rolls back the time.
        """
        self._followers.append(connection)
        if self._moment is not None:
            _show(connection, self._moment.isoformat())

    async def show(self, connection: AsyncJoinable) -> None:
        """Set the current time for an open async connection or session of asyncpg, SQLAlchemy or psycopg."""
        await run_async(join_async(connection), _set_time(self.now().isoformat()))

    def _alter(self, change: SQL | Any) -> None:
        self._followers = [follower for follower in self._followers if not follower.closed]
        if not any(self._alter_through(follower, change) for follower in self._followers):
            with connect(self._dsn, "clock") as connection:
                connection.execute(_alteration(connection, change))
        for follower in self._followers:
            _show(follower, RUNNING if self._moment is None else self._moment.isoformat())

    def _alter_through(self, follower: Follower, change: SQL | Any) -> bool:
        """Use an idle connection to the same database, which is faster than a new one. Return whether it worked."""
        known = follower.info.get_parameters()
        is_same = all(known.get(name) == value for name, value in self._place.items())
        if not is_same or follower.pgconn.pipeline_status or follower.info.transaction_status is not IDLE:
            return False
        result = follower.pgconn.exec_(_alteration(follower, change).as_bytes(follower))
        return result.status == psycopg.pq.ExecStatus.COMMAND_OK


def _alteration(connection: Follower, change: SQL | Any) -> Composed:
    return SQL("alter database {} {}").format(Identifier(connection.info.dbname), change)


def _show(connection: Follower, moment: str) -> None:
    # Through libpq, which needs no event loop and does not begin a transaction.
    if connection.info.transaction_status is psycopg.pq.TransactionStatus.ACTIVE:
        raise RuntimeError("the clock cannot be moved while a connection that follows it executes a statement")
    connection.pgconn.exec_params(SHOW, [moment.encode()])


def _set_time(moment: str) -> Statement[str]:
    return Statement(
        query="select pg_catalog.set_config('rolecall.fake_now', %s, false)", params=(moment,), read=single
    )
