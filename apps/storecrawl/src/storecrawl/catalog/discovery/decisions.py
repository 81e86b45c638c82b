"""Decisions about locations by a person, and the locations that need one.

Nothing here commits.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from psycopg.rows import class_row, scalar_row, tuple_row

from storecrawl.catalog.discovery.locations import LocationStatus
from storecrawl.catalog.errors import LocationRefused, UnknownLocation, UnknownStore
from storecrawl.catalog.sql import DECISIONS, INVESTIGATIONS, LOCATIONS, STORES
from storecrawl.statements import Connection, execute, fetch

UNDECIDED = frozenset({LocationStatus.DISCOVERED, LocationStatus.NEEDS_INVESTIGATION})


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedLocation:
    """The store of a verified location, and whether it is new."""

    store_id: int
    is_new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _LockedLocation:
    id: int
    platform: str
    platform_store_id: str | None
    status: str
    name: str | None
    store_id: int | None


async def verify_location(connection: Connection, location_id: int, *, by: str, reason: str) -> VerifiedLocation:
    """Create a store from a location whatever the rules are; a store with the same id is linked instead.

    Raises UnknownLocation, and LocationRefused for a location that is decided, has a store, or has no id or
    name.
    """
    found = await _lock_location(connection, location_id, UNDECIDED, "verified")
    if found.store_id is not None:
        raise LocationRefused(f"location {location_id} already belongs to store {found.store_id}")
    if found.platform_store_id is None or not found.name:
        raise LocationRefused(f"location {location_id} has no id or no name; link it to a store instead")
    parameters = {"ids": [location_id], "because": reason, "by": by}
    [(store_id, is_new)] = await fetch(connection, LOCATIONS.promote_locations, parameters, tuple_row)
    return VerifiedLocation(store_id=store_id, is_new=is_new)


async def link_location(connection: Connection, location_id: int, store_id: int, *, by: str, reason: str) -> bool:
    """Link a location to an existing store; return whether the store is crawled by the location's id from now on.

    It is if the store had no id, or one that needs investigation. Raises UnknownLocation, UnknownStore, and
    LocationRefused for a location that is decided, of another platform, or whose id another store has.
    """
    found = await _lock_location(connection, location_id, UNDECIDED, "linked")
    await _require_same_platform(connection, found, store_id)
    await _require_free(connection, found, store_id)
    parameters = {"location_id": location_id, "store_id": store_id, "because": reason, "by": by}
    await execute(connection, DECISIONS.link_location, parameters)
    taken = {"platform": found.platform, "platform_store_id": found.platform_store_id}
    updated_count = await execute(connection, DECISIONS.take_platform_id, parameters | taken)
    if updated_count:
        await execute(
            connection, DECISIONS.settle_old_ids, {**parameters, "because": f"location {location_id} has its id"}
        )
    return bool(updated_count)


async def reject_location(connection: Connection, location_id: int, *, by: str, reason: str) -> None:
    """Reject a location; discovery never validates it again. Raises UnknownLocation, LocationRefused."""
    found = await _lock_location(connection, location_id, UNDECIDED, "rejected")
    if found.store_id is not None:
        raise LocationRefused(f"location {location_id} belongs to store {found.store_id}")
    await _decide(connection, location_id, LocationStatus.REJECTED, by, reason)


async def unreject_location(connection: Connection, location_id: int, *, by: str, reason: str) -> None:
    """Undo a rejection; the next discovery validates the location again. Raises UnknownLocation, LocationRefused."""
    found = await _lock_location(connection, location_id, {LocationStatus.REJECTED}, "taken back")
    has_id = found.platform_store_id is not None
    status = LocationStatus.DISCOVERED if has_id else LocationStatus.NEEDS_INVESTIGATION
    await _decide(connection, location_id, status, by, reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownLocation:
    """The known location of an entry point."""

    id: int
    platform_store_id: str
    status: str
    name: str | None
    store_id: int | None


async def find_by_entry(
    connection: Connection, platform: str, entry: str, *, other_than: str | None = None
) -> KnownLocation | None:
    """Return the undisputed location of a platform with this id or slug; `other_than` is an id to skip."""
    parameters = {"platform": platform, "entry": entry, "other_than": other_than}
    rows = await fetch(connection, LOCATIONS.location_by_entry, parameters, class_row(KnownLocation))
    return rows[0] if rows else None


async def investigate_store(connection: Connection, store_id: int, *, by: str, reason: str) -> int | None:
    """Mark the location of a store's id as needing investigation; the store stays as it is.

    Returns the location's id; None for a store without an id, or if a person has rejected that location.
    """
    return await _investigate(
        connection, INVESTIGATIONS.investigate_store, {"store_id": store_id, "by": by, "because": reason}
    )


async def investigate_entry(connection: Connection, platform: str, entry: str, *, by: str, reason: str) -> int | None:
    """Record an entry point that leads nowhere; return its location's id, or None if it is decided."""
    parameters: dict[str, object] = {"platform": platform, "entry": entry, "by": by, "because": reason}
    return await _investigate(connection, INVESTIGATIONS.investigate_entry, parameters)


async def settle_entry(connection: Connection, platform: str, entry: str, platform_store_id: str, *, by: str) -> None:
    """Record that an entry point has led to a store and no longer needs investigation."""
    parameters = {"platform": platform, "entry": entry, "platform_store_id": platform_store_id, "by": by}
    await execute(connection, INVESTIGATIONS.settle_entry, parameters)


async def _decide(connection: Connection, location_id: int, status: LocationStatus, by: str, reason: str) -> None:
    parameters = {"location_id": location_id, "status": status, "because": reason, "by": by}
    await execute(connection, DECISIONS.decide_location, parameters)


async def _lock_location(
    connection: Connection, location_id: int, allowed: Container[str], what: str
) -> _LockedLocation:
    rows = await fetch(connection, DECISIONS.lock_location, {"location_id": location_id}, class_row(_LockedLocation))
    if not rows:
        raise UnknownLocation(location_id)
    if rows[0].status not in allowed:
        status = rows[0].status.replace("_", " ")
        raise LocationRefused(f"location {location_id} is {status}: it cannot be {what}")
    return rows[0]


async def _require_same_platform(connection: Connection, found: _LockedLocation, store_id: int) -> None:
    platforms = await fetch(connection, STORES.platform_of_store, {"store_id": store_id}, scalar_row)
    if not platforms:
        raise UnknownStore([store_id])
    if platforms[0] not in {None, found.platform}:
        raise LocationRefused(f"location {found.id} is on {found.platform}, and store {store_id} on {platforms[0]}")


async def _require_free(connection: Connection, found: _LockedLocation, store_id: int) -> None:
    parameters = {"platform": found.platform, "platform_store_id": found.platform_store_id}
    owners = await fetch(connection, DECISIONS.store_by_platform_id, parameters, scalar_row)
    for owner in {*owners, *filter(None, [found.store_id])} - {store_id}:
        raise LocationRefused(f"location {found.id} has the id of store {owner}")


async def _investigate(connection: Connection, query: bytes, parameters: dict[str, object]) -> int | None:
    ids = await fetch(connection, query, parameters, scalar_row)
    return ids[0] if ids else None
