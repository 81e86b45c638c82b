"""Which stores are due for their next fetch."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from psycopg.rows import class_row

from storecrawl.catalog.statements import Connection, fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class DueStore:
    """A store that may be fetched again."""

    id: int
    platform_store_id: str
    slug: str | None
    name: str
    state: str | None
    last_fetch_at: datetime | None


async def stores_due(
    connection: Connection,
    interval: timedelta,
    state: str | None = None,
    limit: int | None = None,
    now: datetime | None = None,
) -> list[DueStore]:
    """Enabled stores with a platform id, not fetched within the interval, the longest unfetched first.

    Whether a task for the store is open already is for the caller to see to. `now` defaults to the
    database's clock.
    """
    parameters = {"interval": interval, "state": state, "limit": limit, "now": now}
    return await fetch(connection, "stores_due", parameters, class_row(DueStore))
