"""Ids and entry points that lead nowhere: what is known of them already, and what is left for a person to look into.

Nothing here commits.
"""

from __future__ import annotations

from dataclasses import dataclass

from psycopg.rows import class_row, scalar_row

from storecrawl.catalog.sql import INVESTIGATIONS, LOCATIONS
from storecrawl.statements import Connection, execute, fetch

__all__ = ["KnownLocation", "find_by_entry", "investigate_entry", "investigate_store", "settle_entry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownLocation:
    """What discovery has of an entry point."""

    id: int
    platform_store_id: str
    status: str
    name: str | None
    store_id: int | None


async def find_by_entry(connection: Connection, entry: str, *, other_than: str | None = None) -> KnownLocation | None:
    """The location that goes by this id or slug and is in no doubt; `other_than` is an id that is not wanted."""
    parameters = {"entry": entry, "other_than": other_than}
    rows = await fetch(connection, LOCATIONS.location_by_entry, parameters, class_row(KnownLocation))
    return rows[0] if rows else None


async def investigate_store(connection: Connection, store_id: int, *, by: str, because: str) -> int | None:
    """Say that somebody should look into the id that a store goes by; the store stays as it is.

    Returns the id of its location; None for a store without an id, and where a person has rejected that location.
    """
    return await _investigate(
        connection, INVESTIGATIONS.investigate_store, {"store_id": store_id, "by": by, "because": because}
    )


async def investigate_entry(connection: Connection, entry: str, *, by: str, because: str) -> int | None:
    """Keep an entry point that leads nowhere; returns the id of its location, None where it is decided about."""
    return await _investigate(
        connection, INVESTIGATIONS.investigate_entry, {"entry": entry, "by": by, "because": because}
    )


async def settle_entry(connection: Connection, entry: str, platform_store_id: str, *, by: str) -> None:
    """An entry point has led to a store: nobody needs to look into it any more."""
    parameters = {"entry": entry, "platform_store_id": platform_store_id, "by": by}
    await execute(connection, INVESTIGATIONS.settle_entry, parameters)


async def _investigate(connection: Connection, query: bytes, parameters: dict[str, object]) -> int | None:
    ids = await fetch(connection, query, parameters, scalar_row)
    return ids[0] if ids else None
