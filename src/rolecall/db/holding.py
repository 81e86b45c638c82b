"""Holds claims for some seconds while a migration waits for its locks, so that open transactions end and none begin.

All roles that are not paused are paused for a limited time, so that the pauses expire even if the migrator is killed.
Between two holds, the pool works at least as long as the hold took.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any

import psycopg

# The value of `paused_by` during a hold.
HELD_BY = "rolecall migrate"
# In seconds: how long locks are tried before the first hold, and the length of each hold.
PATIENCE_BEFORE = 3.0
HOLDS = (5.0, 10.0, 15.0)
PAUSE = """\
select rolecall.pause_role(name, %s, %s) from rolecall.roles
where paused_at is null or paused_until <= rolecall.clock() order by name
"""
RESUME = "select rolecall.resume_role(name) from rolecall.roles where paused_by = %s order by name"

Connection = psycopg.Connection[Any]


@contextmanager
def holding_claims(conn: Connection) -> Iterator[_Hold]:
    """Yield a hold that `keep` starts; it is released at the end of the block in any case."""
    hold = _Hold(conn)
    try:
        yield hold
    finally:
        hold.release()


class _Hold:
    def __init__(self, conn: Connection) -> None:
        self._conn = conn
        self._lengths = iter(HOLDS)
        self._next_at = monotonic() + PATIENCE_BEFORE
        self._until = 0.0
        self._is_on = False

    def keep(self) -> bool:
        """Start or end the hold if it is time; return whether claims are held."""
        now = monotonic()
        if self._is_on and now >= self._until:
            self.release()
        if not self._is_on and now >= self._next_at and (length := next(self._lengths, None)):
            self._until = now + length
            self._next_at = self._until + length
            self._is_on = self._run(PAUSE, length, HELD_BY)
        return self._is_on

    def release(self) -> None:
        if self._is_on:
            self._is_on = False
            self._run(RESUME, HELD_BY)

    def _run(self, query: str, *params: object) -> bool:
        # A database without roles has no claims to hold. A hold that cannot be ended here expires.
        with suppress(psycopg.Error), self._conn.transaction():
            self._conn.execute("set local lock_timeout = '100ms'")
            self._conn.execute(query.encode(), params)
            return True
        return False
