"""Calls that yield to others and must be repeated."""

from __future__ import annotations

from contextlib import suppress

import psycopg

from tests.sql.engine import Engine

MAKE_PARTITIONS = "select rolecall.make_partitions()"
TRIES = 5


def repeat_until_done(engine: Engine, call: str) -> int:
    """Repeat a call while other sessions use the tables, as make_partitions requires."""
    for _ in range(TRIES - 1):
        with suppress(psycopg.errors.LockNotAvailable):
            return int(engine.value(call))
    return int(engine.value(call))
