"""The embedded database is nobody else's, so whoever opens it brings it to their release's schema."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import psycopg

from rolecall.db.connect import connect
from rolecall.db.migrator import check, migrate
from rolecall.db.run import run
from rolecall.model.errors import DatabaseUnavailable, SchemaTooNew
from rolecall.sql import retention

__all__ = ["bring_up_to_date", "make_room"]


def bring_up_to_date(dsn: str) -> None:
    """Migrate the embedded database, so that it can be used at once.

    One that a newer release has migrated stays as it is, if this release can run on it. Raises SchemaTooNew where it
    cannot, SchemaDrift.
    """
    with connect(dsn, "migrate") as connection:
        try:
            if migrate(connection):
                make_room(connection)
        except SchemaTooNew:
            check(connection)


def make_room(connection: psycopg.Connection[Any]) -> None:
    """Make the partitions of the coming days; where the tables are too busy, a worker's housekeeping does it later."""
    with suppress(DatabaseUnavailable):
        run(connection, retention.make_partitions())
