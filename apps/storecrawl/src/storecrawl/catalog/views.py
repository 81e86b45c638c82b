"""Refresh the materialized views, once something has changed, while readers go on reading."""

from __future__ import annotations

from psycopg import sql
from psycopg.rows import tuple_row

from storecrawl.catalog.sql import STATISTICS
from storecrawl.statements import Connection, execute, fetch


async def refresh_stale_views(connection: Connection) -> list[str]:
    """Refresh the views if a round has noted a change since the last time; return the names of those refreshed."""
    stale = await execute(connection, STATISTICS.claim_views, {})
    return await refresh_views(connection) if stale else []


async def refresh_views(connection: Connection) -> list[str]:
    """Refresh every view of the schema in the caller's transaction; return their names.

    Concurrently, so that readers never wait; a view that was never filled, as after a restore, plainly.
    """
    views = await fetch(connection, STATISTICS.list_views, {}, tuple_row)
    for name, populated in views:
        manner = sql.SQL("concurrently ") if populated else sql.SQL("")
        view = sql.Identifier("storecrawl", name)
        await connection.execute(sql.SQL("refresh materialized view {}{}").format(manner, view))
    return [name for name, _ in views]
