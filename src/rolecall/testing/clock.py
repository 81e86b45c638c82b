"""The database's clock in the hand of a test: set it, let hours pass at once."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import psycopg
from psycopg.sql import SQL, Identifier, Literal

from rolecall.db.connect import connect

__all__ = ["Clock"]

SETTING = SQL("rolecall.fake_now")


class Clock:
    """Stops a database's clock and moves it by hand.

    Connections that are opened later see the new time by themselves. Those that are open already are told by
    `follow` (sync, from then on at every move) or by `show` (async, once).
    """

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._followers: list[psycopg.Connection[Any]] = []
        self._moment: datetime | None = None

    def now(self) -> datetime:
        """Return what the database takes for the present."""
        if self._moment is not None:
            return self._moment
        with connect(self._dsn, "clock") as connection:
            return _read(connection)

    def set(self, moment: datetime) -> datetime:
        """Stop the clock at this moment (with a time zone)."""
        if moment.tzinfo is None:
            raise ValueError("a moment needs a time zone")
        self._moment = moment
        with connect(self._dsn, "clock") as connection:
            connection.execute(
                SQL("alter database {} set {} = {}").format(
                    Identifier(connection.info.dbname), SETTING, Literal(moment.isoformat())
                )
            )
        for follower in self._followers:
            follower.execute("select set_config('rolecall.fake_now', %s, false)", (moment.isoformat(),))
        return moment

    def advance(self, **step: float) -> datetime:
        """Move the clock: `clock.advance(minutes=5)`; words as in timedelta."""
        return self.set(self.now() + timedelta(**step))

    def follow(self, connection: psycopg.Connection[Any]) -> None:
        """Show an open connection this time, now and after every move."""
        self._followers.append(connection)
        if self._moment is not None:
            self.set(self._moment)

    async def show(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Show an open async connection the present time."""
        await connection.execute("select set_config('rolecall.fake_now', %s, false)", (self.now().isoformat(),))


def _read(connection: psycopg.Connection[Any]) -> datetime:
    row = connection.execute("select rolecall.clock()").fetchone()
    moment = row[0] if row else None
    if not isinstance(moment, datetime):
        raise TypeError(f"the database's clock shows {moment!r}")
    return moment
